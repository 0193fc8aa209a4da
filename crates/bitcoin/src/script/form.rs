//! The standard forms of outputs.

/// A standard form of an output and its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// P2PK.
    PublicKey,
    /// P2PKH.
    KeyHash,
    /// P2WPKH.
    WitnessKeyHash,
    /// P2SH-P2WPKH.
    NestedWitnessKeyHash,
    /// P2TR, by the output key.
    TaprootKey,
    /// P2TR, by a script `key OP_CHECKSIG`, optionally followed by data that never runs.
    TaprootScript,
    /// Bare multisig.
    Multisig,
    /// P2SH multisig.
    ScriptHashMultisig,
    /// P2WSH multisig.
    WitnessMultisig,
    /// P2SH-P2WSH multisig.
    NestedWitnessMultisig,
}

impl Form {
    /// All forms, in the order of their numbers.
    pub const ALL: [Form; 10] = [
        Form::PublicKey,
        Form::KeyHash,
        Form::WitnessKeyHash,
        Form::NestedWitnessKeyHash,
        Form::TaprootKey,
        Form::TaprootScript,
        Form::Multisig,
        Form::ScriptHashMultisig,
        Form::WitnessMultisig,
        Form::NestedWitnessMultisig,
    ];

    /// The usual name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::PublicKey => "P2PK",
            Form::KeyHash => "P2PKH",
            Form::WitnessKeyHash => "P2WPKH",
            Form::NestedWitnessKeyHash => "P2SH-P2WPKH",
            Form::TaprootKey => "P2TR key",
            Form::TaprootScript => "P2TR script",
            Form::Multisig => "multisig",
            Form::ScriptHashMultisig => "P2SH multisig",
            Form::WitnessMultisig => "P2WSH multisig",
            Form::NestedWitnessMultisig => "P2SH-P2WSH multisig",
        }
    }
}
