//! The networks, and the rules in force for each block.

/// The rules in force for one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The block's height.
    pub height: u32,
    /// Satoshis that the coinbase may create on top of the fees.
    pub subsidy: u64,
    /// BIP16: pay to script hash. On for every block except the one that breaks it.
    pub p2sh: bool,
    /// BIP30: no transaction may have the id of one with unspent outputs. Off for the two blocks
    /// that break it, and where BIP34 makes it impossible.
    pub bip30: bool,
    /// BIP34: the coinbase begins with the height.
    pub bip34: bool,
    /// BIP65: OP_CHECKLOCKTIMEVERIFY.
    pub bip65: bool,
    /// BIP66: strict DER signatures.
    pub bip66: bool,
    /// BIP68, BIP112, BIP113: relative lock times, and median time past for lock times.
    pub csv: bool,
    /// BIP141, BIP143, BIP147: segregated witness and NULLDUMMY.
    pub segwit: bool,
    /// BIP341, BIP342: taproot. On for every block except the one that breaks it.
    pub taproot: bool,
}
