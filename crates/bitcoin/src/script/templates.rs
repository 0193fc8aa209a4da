//! Recognises standard forms, and reduces them to signature checks.
//!
//! A form is recognised only if the verdict of the interpreter depends on nothing but the
//! signatures: every push has its shortest form, the script takes exactly the given items, DER is
//! strict, hash types are known, keys have the usual formats and the right hash, and no item is
//! left over. Each form lists the rules that it needs; it is not recognised if they are not in
//! force.

mod taproot;

use super::multisig::{Multisigs, Signed};
use super::pushes::{Items, MultisigScript, OP_CHECKSIG, is_true, push};
use super::sighash::{LegacyHashes, SegwitHashes, TaprootHashes};
use super::signature::{self, EcdsaSignature};
use super::taproot::Tags;
use super::{Flags, Form, Spend};
use crate::types::Witness;
use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, SchnorrCheck, TweakCheck};
use ripemd::{Digest, Ripemd160};

/// Checks of a batch.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub ecdsa: Vec<EcdsaCheck>,
    pub schnorr: Vec<SchnorrCheck>,
    /// Checks that output keys commit to scripts.
    pub tweaks: Vec<TweakCheck>,
    pub multisigs: Multisigs,
}

/// The checks of an input: indices in the lists of [`Checks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indexes {
    Ecdsa(usize),
    Schnorr(usize),
    Tapscript { signature: usize, commitment: usize },
    Multisig(usize),
}

/// Recognises the inputs of transactions, one transaction after another.
#[derive(Debug, Default)]
pub(super) struct Templates {
    legacy: LegacyHashes,
    segwit: SegwitHashes,
    taproot: TaprootHashes,
    tags: Tags,
}

/// The algorithm of the signature hash.
#[derive(Clone, Copy)]
enum Version {
    Legacy,
    Segwit,
}

/// An input that is being recognised.
struct Input<'a, 'b> {
    spend: &'b Spend<'a>,
    index: usize,
    /// The input script.
    script: &'a [u8],
    /// The witness, with the count of its items.
    witness: &'a [u8],
    flags: Flags,
    checks: &'b mut Checks,
}

impl<'a> Input<'a, '_> {
    /// Requires an empty witness. BIP141 forbids a witness that is not needed.
    fn no_witness(&self) -> Option<()> {
        matches!(self.witness, [] | [0]).then_some(())
    }

    /// The items of the witness, if there are exactly `N`.
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

/// BIP16, BIP141: if witness programs are not in force, anyone can spend them.
const SEGWIT: Flags = Flags::P2SH.with(Flags::WITNESS);

impl Templates {
    /// Starts another transaction.
    pub fn reset(&mut self) {
        self.legacy.reset();
        self.segwit.reset();
        self.taproot.reset();
    }

    /// Recognises input number `index` of a transaction, the same one since the last reset. Adds
    /// its checks; if the result is `None`, adds none.
    pub fn recognise(
        &mut self,
        spend: &Spend,
        index: usize,
        flags: Flags,
        checks: &mut Checks,
    ) -> Option<(Form, Indexes)> {
        let (input, coin) = (spend.inputs().get(index)?, spend.coins().get(index)?);
        // the interpreter reads amounts as signed numbers
        i64::try_from(coin.value.to_sat()).ok()?;
        let (script, witness) = (spend.script(input), spend.witness(input));
        let mut at = Input { spend, index, script, witness, flags, checks };
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

    /// One signature by one key. `code` is the script that the signature commits to.
    fn single(
        &mut self,
        at: &mut Input,
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

    fn digest(&mut self, at: &Input, version: Version, code: &[u8], hash_type: u8) -> [u8; 32] {
        let hash_type = hash_type.into();
        match version {
            Version::Legacy => self.legacy.hash(at.spend, at.index, code, hash_type),
            Version::Segwit => self.segwit.hash(at.spend, at.index, code, hash_type),
        }
    }

    /// Output `key OP_CHECKSIG`, input `signature`.
    fn public_key(&mut self, at: &mut Input, output: &[u8]) -> Option<(Form, Indexes)> {
        at.no_witness()?;
        let (mut rest, mut script) = (output, at.script);
        let (key, signature) = (push(&mut rest)?, push(&mut script)?);
        (rest == [OP_CHECKSIG] && script.is_empty()).then_some(())?;
        let indexes = self.single(at, Version::Legacy, output, [signature, key])?;
        Some((Form::PublicKey, indexes))
    }

    /// Output `OP_DUP OP_HASH160 hash OP_EQUALVERIFY OP_CHECKSIG`, input `signature key`.
    fn key_hash(&mut self, at: &mut Input, output: &[u8], hash: &[u8]) -> Option<(Form, Indexes)> {
        at.no_witness()?;
        let mut script = at.script;
        let (signature, key) = (push(&mut script)?, push(&mut script)?);
        (script.is_empty() && hash160(key) == hash).then_some(())?;
        let indexes = self.single(at, Version::Legacy, output, [signature, key])?;
        Some((Form::KeyHash, indexes))
    }

    /// Version 0 witness program of 20 bytes (BIP141), witness `signature key`.
    fn witness_key_hash(&mut self, at: &mut Input, hash: &[u8]) -> Option<Indexes> {
        let [signature, key] = at.witness()?;
        // the program is left on the stack and must be true
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
    fn script_hash(&mut self, at: &mut Input, hash: &[u8]) -> Option<(Form, Indexes)> {
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
    fn witness_multisig(&mut self, at: &mut Input, hash: &[u8]) -> Option<Indexes> {
        let items = Items::collect(Witness::new(at.witness))?;
        let (script, items) = items.as_slice().split_last()?;
        (sha256(script) == hash && is_true(hash)).then_some(())?;
        self.multisig(at, Version::Segwit, script, items)
    }

    /// Output `OP_m key ... OP_n OP_CHECKMULTISIG`, input `OP_0 signature ...`.
    fn bare_multisig(&mut self, at: &mut Input, output: &[u8]) -> Option<(Form, Indexes)> {
        at.no_witness()?;
        let items = Items::of_multisig_input(at.script)?;
        let indexes = self.multisig(at, Version::Legacy, output, items.as_slice())?;
        Some((Form::Multisig, indexes))
    }

    /// `OP_m key ... OP_n OP_CHECKMULTISIG`. The opcode takes one item too many, which must be the
    /// first one and empty (BIP147).
    fn multisig(
        &mut self,
        at: &mut Input,
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
}
