//! The standard forms: recognised, and reduced to signature checks.
//!
//! A form is recognised only where the interpreter has nothing to decide but whether signatures
//! hold: every push in its shortest form, exactly the items that the script takes, strict DER,
//! known hash types, keys of the usual kinds with the right hash, nothing left over. Each form
//! states which rules it rests on; where they are not in force it is not recognised.

use super::multisig::{Multisigs, Signed};
use super::pushes::{Items, MOST_PUSHED, MultisigScript, OP_CHECKSIG, Operations, is_true, push};
use super::sighash::{LegacyHashes, SegwitHashes, TaprootHashes};
use super::signature::{self, EcdsaSignature};
use super::taproot::Tags;
use super::{Flags, Spend};
use crate::types::Witness;
use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, SchnorrCheck, TweakCheck};
use ripemd::{Digest, Ripemd160};

const OP_IF: u8 = 0x63;
const OP_ENDIF: u8 = 0x68;

/// The standard forms of outputs and how they are spent.
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
    /// P2TR, by a script `key OP_CHECKSIG` that data which never runs may follow.
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

    /// The name by which it is known.
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

/// Checks that wait for their batch.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub ecdsa: Vec<EcdsaCheck>,
    pub schnorr: Vec<SchnorrCheck>,
    /// Commitments of output keys to scripts.
    pub tweaks: Vec<TweakCheck>,
    pub multisigs: Multisigs,
}

/// Where the checks of an input stand: its indexes in the lists of [`Checks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indexes {
    Ecdsa(usize),
    Schnorr(usize),
    Tapscript { signature: usize, commitment: usize },
    Multisig(usize),
}

/// Recognises the inputs of one transaction after the other.
#[derive(Debug, Default)]
pub(super) struct Templates {
    legacy: LegacyHashes,
    segwit: SegwitHashes,
    taproot: TaprootHashes,
    tags: Tags,
}

/// Which signature hash signs.
#[derive(Clone, Copy)]
enum Version {
    Legacy,
    Segwit,
}

/// An input that is being recognised.
struct At<'a, 'b> {
    spend: &'b Spend<'a>,
    index: usize,
    /// Its input script.
    script: &'a [u8],
    /// Its witness, with the count of items.
    witness: &'a [u8],
    flags: Flags,
    checks: &'b mut Checks,
}

impl<'a> At<'a, '_> {
    /// An input without witness. With the rules of BIP141 another has none where it needs none.
    fn no_witness(&self) -> Option<()> {
        matches!(self.witness, [] | [0]).then_some(())
    }

    /// The items of the witness, when there are just `N`.
    fn witness<const N: usize>(&self) -> Option<[&'a [u8]; N]> {
        let mut items = Witness::new(self.witness);
        let mut found = [&[][..]; N];
        for slot in &mut found {
            *slot = items.next()?;
        }
        items.next().is_none().then_some(found)
    }
}

fn hash160(bytes: &[u8]) -> [u8; 20] {
    Ripemd160::digest(sha256(bytes)).into()
}

/// The key of a script `key OP_CHECKSIG`, which may be followed by `OP_0 OP_IF push ... OP_ENDIF`
/// any number of times: data that never runs. There is no limit on the length of such scripts, and
/// pushes are all that stands in them, so no opcode that makes a script succeed (BIP342).
fn key_and_data(script: &[u8]) -> Option<&[u8; 32]> {
    let (key, rest) = script.strip_prefix(&[0x20])?.split_first_chunk()?;
    let mut rest = rest.strip_prefix(&[OP_CHECKSIG])?;
    while !rest.is_empty() {
        let mut data = Operations(rest.strip_prefix(&[0, OP_IF])?);
        // even what does not run is not to be longer than an item may be
        let end = data.find(|(opcode, pushed)| !is_push(*opcode) || pushed.len() > MOST_PUSHED)?;
        (end.0 == OP_ENDIF).then_some(())?;
        rest = data.0;
    }
    Some(key)
}

/// Up to OP_16, but for the reserved opcode, which is BIP342's first that makes scripts succeed.
fn is_push(opcode: u8) -> bool {
    opcode <= 0x60 && opcode != 0x50
}

/// BIP16, BIP141: where witness programs are not in force anyone can spend them.
const SEGWIT: Flags = Flags::P2SH.with(Flags::WITNESS);

impl Templates {
    /// Forgets the transaction.
    pub fn reset(&mut self) {
        self.legacy.reset();
        self.segwit.reset();
        self.taproot.reset();
    }

    /// Recognises input number `index` of the transaction that all calls since the last reset are
    /// about. Its checks are added; none are where the answer is none.
    pub fn recognise(
        &mut self,
        spend: &Spend,
        index: usize,
        flags: Flags,
        checks: &mut Checks,
    ) -> Option<(Form, Indexes)> {
        let (input, coin) = (spend.inputs().get(index)?, spend.coins().get(index)?);
        // amounts are signed numbers to the interpreter
        i64::try_from(coin.value.to_sat()).ok()?;
        let (script, witness) = (spend.script(input), spend.witness(input));
        let mut at = At { spend, index, script, witness, flags, checks };
        let output = spend.coin_script(coin);
        match output {
            [0x76, 0xa9, 0x14, hash @ .., 0x88, 0xac] if hash.len() == 20 => {
                self.key_hash(&mut at, output, hash)
            }
            [0xa9, 0x14, hash @ .., 0x87] if hash.len() == 20 => self.script_hash(&mut at, hash),
            [0, 0x14, hash @ ..] if hash.len() == 20 => {
                (script.is_empty() && flags.has(SEGWIT)).then_some(())?;
                Some((Form::WitnessKeyHash, self.witness_key_hash(&mut at, hash)?))
            }
            [0, 0x20, hash @ ..] if hash.len() == 32 => {
                (script.is_empty() && flags.has(SEGWIT)).then_some(())?;
                Some((Form::WitnessMultisig, self.witness_multisig(&mut at, hash)?))
            }
            [0x51, 0x20, key @ ..] => self.taproot(&mut at, key.try_into().ok()?),
            [.., OP_CHECKSIG] => self.public_key(&mut at, output),
            _ => self.bare_multisig(&mut at, output),
        }
    }

    /// One signature by one key. `code` is what the signature signs as the script.
    fn single(
        &mut self,
        at: &mut At,
        version: Version,
        code: &[u8],
        [signature, key]: [&[u8]; 2],
    ) -> Option<Indexes> {
        let EcdsaSignature { r, s, hash_type } = EcdsaSignature::parse(signature)?;
        let key = signature::key(key)?;
        let digest = self.digest(at, version, code, hash_type);
        at.checks.ecdsa.push(EcdsaCheck { digest, r, s, key });
        Some(Indexes::Ecdsa(at.checks.ecdsa.len() - 1))
    }

    fn digest(&mut self, at: &At, version: Version, code: &[u8], hash_type: u8) -> [u8; 32] {
        let hash_type = hash_type.into();
        match version {
            Version::Legacy => self.legacy.hash(at.spend, at.index, code, hash_type),
            Version::Segwit => self.segwit.hash(at.spend, at.index, code, hash_type),
        }
    }

    /// Output `key OP_CHECKSIG`, input `signature`.
    fn public_key(&mut self, at: &mut At, output: &[u8]) -> Option<(Form, Indexes)> {
        at.no_witness()?;
        let (mut rest, mut script) = (output, at.script);
        let (key, signature) = (push(&mut rest)?, push(&mut script)?);
        (rest == [OP_CHECKSIG] && script.is_empty()).then_some(())?;
        let indexes = self.single(at, Version::Legacy, output, [signature, key])?;
        Some((Form::PublicKey, indexes))
    }

    /// Output `OP_DUP OP_HASH160 hash OP_EQUALVERIFY OP_CHECKSIG`, input `signature key`.
    fn key_hash(&mut self, at: &mut At, output: &[u8], hash: &[u8]) -> Option<(Form, Indexes)> {
        at.no_witness()?;
        let mut script = at.script;
        let (signature, key) = (push(&mut script)?, push(&mut script)?);
        (script.is_empty() && hash160(key) == hash).then_some(())?;
        let indexes = self.single(at, Version::Legacy, output, [signature, key])?;
        Some((Form::KeyHash, indexes))
    }

    /// Version 0 witness program of 20 bytes (BIP141), witness `signature key`.
    fn witness_key_hash(&mut self, at: &mut At, hash: &[u8]) -> Option<Indexes> {
        let [signature, key] = at.witness()?;
        // the program is left on the stack and has to be true by itself
        (hash160(key) == hash && is_true(hash)).then_some(())?;
        let mut code = [
            0x76, 0xa9, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88,
            0xac,
        ];
        code[3..23].copy_from_slice(hash);
        self.single(at, Version::Segwit, &code, [signature, key])
    }

    /// Output `OP_HASH160 hash OP_EQUAL` (BIP16). The input script is the redeem script alone for
    /// witness programs, and `OP_0 signature ... script` for multisig, which has no witness.
    fn script_hash(&mut self, at: &mut At, hash: &[u8]) -> Option<(Form, Indexes)> {
        at.flags.has(Flags::P2SH).then_some(())?;
        match at.script {
            [22, program @ ..] if program.len() == 22 => {
                (at.flags.has(SEGWIT) && hash160(program) == hash).then_some(())?;
                let inner = program.strip_prefix(&[0, 0x14])?;
                Some((Form::NestedWitnessKeyHash, self.witness_key_hash(at, inner)?))
            }
            [34, program @ ..] if program.len() == 34 => {
                (at.flags.has(SEGWIT) && hash160(program) == hash).then_some(())?;
                let inner = program.strip_prefix(&[0, 0x20])?;
                Some((Form::NestedWitnessMultisig, self.witness_multisig(at, inner)?))
            }
            script => {
                at.no_witness()?;
                let items = Items::of_multisig_input(script)?;
                let (redeem, items) = items.as_slice().split_last()?;
                (hash160(redeem) == hash).then_some(())?;
                let indexes = self.multisig(at, Version::Legacy, redeem, items)?;
                Some((Form::ScriptHashMultisig, indexes))
            }
        }
    }

    /// Version 0 witness program of 32 bytes (BIP141), witness `empty signature ... script`.
    fn witness_multisig(&mut self, at: &mut At, hash: &[u8]) -> Option<Indexes> {
        let items = Items::of(Witness::new(at.witness))?;
        let (script, items) = items.as_slice().split_last()?;
        (sha256(script) == hash && is_true(hash)).then_some(())?;
        self.multisig(at, Version::Segwit, script, items)
    }

    /// Output `OP_m key ... OP_n OP_CHECKMULTISIG`, input `OP_0 signature ...`.
    fn bare_multisig(&mut self, at: &mut At, output: &[u8]) -> Option<(Form, Indexes)> {
        at.no_witness()?;
        let items = Items::of_multisig_input(at.script)?;
        let indexes = self.multisig(at, Version::Legacy, output, items.as_slice())?;
        Some((Form::Multisig, indexes))
    }

    /// The first item is the one too many that the opcode takes: empty (BIP147).
    fn multisig(
        &mut self,
        at: &mut At,
        version: Version,
        script: &[u8],
        items: &[&[u8]],
    ) -> Option<Indexes> {
        let (&[], signatures) = items.split_first()? else { return None };
        let multisig = MultisigScript::parse(script)?;
        (signatures.len() == multisig.needed).then_some(())?;
        let mut parsed = [EcdsaSignature { r: [0; 32], s: [0; 32], hash_type: 0 }; 16];
        for (slot, bytes) in parsed.iter_mut().zip(signatures) {
            *slot = EcdsaSignature::parse(bytes)?;
        }
        let number = at.checks.multisigs.begin(multisig.keys(), multisig.needed);
        let mut last = None;
        for EcdsaSignature { r, s, hash_type } in parsed.into_iter().take(signatures.len()) {
            let digest = match last {
                Some((same, digest)) if same == hash_type => digest,
                _ => self.digest(at, version, script, hash_type),
            };
            last = Some((hash_type, digest));
            at.checks.multisigs.push(Signed { digest, r, s });
        }
        Some(Indexes::Multisig(number))
    }

    /// Version 1 witness program of 32 bytes (BIP341), without annex: witness `signature`, or
    /// `signature script control` where the script is `key OP_CHECKSIG` and data (BIP342). One
    /// signature is within the budget of every witness.
    fn taproot(&mut self, at: &mut At, output: &[u8; 32]) -> Option<(Form, Indexes)> {
        let in_force = at.flags.has(SEGWIT.with(Flags::TAPROOT));
        (in_force && at.script.is_empty() && is_true(output)).then_some(())?;
        if let Some([bytes]) = at.witness() {
            let signature = self.schnorr(at, bytes, output, None)?;
            return Some((Form::TaprootKey, Indexes::Schnorr(signature)));
        }
        // the version byte of `control` rules out that it is an annex
        let [bytes, script, control] = at.witness()?;
        let key = key_and_data(script)?;
        let leaf = self.tags.leaf(script);
        let commitment = self.tags.commitment(output, control, leaf)?;
        let signature = self.schnorr(at, bytes, key, Some(&leaf))?;
        at.checks.tweaks.push(commitment);
        let commitment = at.checks.tweaks.len() - 1;
        Some((Form::TaprootScript, Indexes::Tapscript { signature, commitment }))
    }

    /// The index of the check.
    fn schnorr(
        &mut self,
        at: &mut At,
        bytes: &[u8],
        key: &[u8; 32],
        leaf: Option<&[u8; 32]>,
    ) -> Option<usize> {
        let (signature, hash_type) = signature::schnorr(bytes)?;
        let segwit = &mut self.segwit;
        let message = self.taproot.hash(segwit, at.spend, at.index, leaf, hash_type)?;
        at.checks.schnorr.push(SchnorrCheck { message, signature, key: *key });
        Some(at.checks.schnorr.len() - 1)
    }
}
