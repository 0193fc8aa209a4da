//! Keys, output scripts and their unlocking.

use super::mixture::OutputKind;
use crate::random::Random;
use anyhow::{Context, Result, anyhow};
use rust_bitcoin::blockdata::script::{Builder, PushBytesBuf, ScriptBuf};
use rust_bitcoin::hashes::Hash;
use rust_bitcoin::key::{Keypair, PublicKey, TapTweak, UntweakedPublicKey, XOnlyPublicKey};
use rust_bitcoin::opcodes::all::{
    OP_CHECKMULTISIG, OP_CHECKSIG, OP_CHECKSIGVERIFY, OP_ENDIF, OP_IF, OP_PUSHNUM_1, OP_PUSHNUM_2,
    OP_PUSHNUM_3,
};
use rust_bitcoin::secp256k1::{All, Message, Secp256k1, SecretKey};
use rust_bitcoin::sighash::{EcdsaSighashType, Prevouts, SighashCache, TapSighashType};
use rust_bitcoin::taproot::{LeafVersion, TapLeafHash, TaprootBuilder};
use rust_bitcoin::{Amount, Transaction, TxOut, Witness, ecdsa, taproot};

/// Number of keys. It does not affect a node's work: a node shares nothing between outputs with the
/// same key.
pub const KEYS: usize = 2048;

/// A key with its precomputed scripts.
struct Key {
    pair: Keypair,
    public: PublicKey,
    /// For taproot without scripts.
    tweaked: Keypair,
    /// 2 of this key and the next two.
    multisig: ScriptBuf,
    /// The first leaf of the taproot output with scripts; the key after this one signs for it.
    leaf: ScriptBuf,
    /// The control block of the leaf.
    control: Vec<u8>,
    /// Output scripts, by kind.
    scripts: [ScriptBuf; OutputKind::ALL.len()],
}

/// Keys derived from a seed.
pub struct Wallet {
    secp: Secp256k1<All>,
    keys: Vec<Key>,
}

/// An input to unlock.
pub struct Locked {
    /// Its position.
    pub at: usize,
    /// The kind of the coin.
    pub kind: OutputKind,
    /// The index of its key.
    pub key: usize,
    /// Its value in satoshis.
    pub value: Amount,
    /// The signature hash type; taproot has the same types.
    pub covers: EcdsaSighashType,
}

impl Wallet {
    /// Derives the keys from `seed`.
    pub fn new(seed: u64) -> Result<Self> {
        let secp = Secp256k1::new();
        let mut random = Random(seed ^ 0x6b65_7973);
        let pairs: Vec<Keypair> = (0..KEYS).map(|_| pair(&secp, &mut random)).collect();
        let keys = (0..KEYS).map(|at| Key::new(&secp, &pairs, at)).collect::<Result<_>>()?;
        Ok(Self { secp, keys })
    }

    /// The output script of a kind and key.
    pub fn script(&self, kind: OutputKind, key: usize) -> &ScriptBuf {
        &self.keys[key].scripts[kind as usize]
    }

    /// The script and the witness of an input. `spent` are all outputs that the transaction spends,
    /// which taproot signatures cover.
    pub fn unlock(
        &self,
        cache: &mut SighashCache<&Transaction>,
        input: &Locked,
        spent: &[TxOut],
    ) -> Result<(ScriptBuf, Witness)> {
        let key = &self.keys[input.key];
        let Locked { at, value, covers, kind, .. } = *input;
        let own = &key.scripts[kind as usize];
        match kind {
            OutputKind::P2pk | OutputKind::P2pkUncompressed | OutputKind::P2pkh => {
                let hash = cache.legacy_signature_hash(at, own, covers.to_u32())?;
                let signature = self.ecdsa(key, hash.to_byte_array(), covers);
                let script = Builder::new().push_slice(signature);
                let script =
                    if kind == OutputKind::P2pkh { script.push_key(&key.public) } else { script };
                Ok((script.into_script(), Witness::new()))
            }
            OutputKind::P2shMultisig => {
                let hash = cache.legacy_signature_hash(at, &key.multisig, covers.to_u32())?;
                let [first, second] = self.two(input.key, hash.to_byte_array(), covers);
                let redeem = PushBytesBuf::try_from(key.multisig.to_bytes())?;
                let script = Builder::new().push_int(0).push_slice(first).push_slice(second);
                Ok((script.push_slice(redeem).into_script(), Witness::new()))
            }
            OutputKind::P2wpkh | OutputKind::P2shP2wpkh => {
                let program = &key.scripts[OutputKind::P2wpkh as usize];
                let hash = cache.p2wpkh_signature_hash(at, program, value, covers)?;
                let signature = self.ecdsa(key, hash.to_byte_array(), covers);
                let redeem = PushBytesBuf::try_from(program.to_bytes())?;
                let script = match kind {
                    OutputKind::P2wpkh => ScriptBuf::new(),
                    _ => Builder::new().push_slice(redeem).into_script(),
                };
                let public = key.public.inner.serialize();
                Ok((script, Witness::from_slice(&[&signature[..], &public[..]])))
            }
            OutputKind::P2wshMultisig => {
                let hash = cache.p2wsh_signature_hash(at, &key.multisig, value, covers)?;
                let [first, second] = self.two(input.key, hash.to_byte_array(), covers);
                let stack = [&[], &first[..], &second[..], key.multisig.as_bytes()];
                Ok((ScriptBuf::new(), Witness::from_slice(&stack)))
            }
            OutputKind::P2trKey | OutputKind::P2trScript => {
                self.unlock_taproot(cache, input, spent)
            }
            OutputKind::P2wshVerify => {
                let script = verify(&key.public);
                let hash = cache.p2wsh_signature_hash(at, &script, value, covers)?;
                let signature = self.ecdsa(key, hash.to_byte_array(), covers);
                let stack = [&signature[..], script.as_bytes()];
                Ok((ScriptBuf::new(), Witness::from_slice(&stack)))
            }
            OutputKind::P2wshUnrun => Ok((ScriptBuf::new(), Witness::from_slice(&[unrun()]))),
        }
    }

    fn unlock_taproot(
        &self,
        cache: &mut SighashCache<&Transaction>,
        input: &Locked,
        spent: &[TxOut],
    ) -> Result<(ScriptBuf, Witness)> {
        let key = &self.keys[input.key];
        // `ALL` is the default of taproot, which has a name of its own and no byte
        let covers = match input.covers {
            EcdsaSighashType::All => TapSighashType::Default,
            other => TapSighashType::from_consensus_u8(other as u8)?,
        };
        let spent = Prevouts::All(spent);
        let mut witness = Witness::new();
        if input.kind == OutputKind::P2trKey {
            let hash = cache.taproot_key_spend_signature_hash(input.at, &spent, covers)?;
            witness.push(self.schnorr(&key.tweaked, hash.to_byte_array(), covers));
        } else {
            let leaf = TapLeafHash::from_script(&key.leaf, LeafVersion::TapScript);
            let hash = cache.taproot_script_spend_signature_hash(input.at, &spent, leaf, covers)?;
            let signer = &self.keys[next(input.key, 1)].pair;
            witness.push(self.schnorr(signer, hash.to_byte_array(), covers));
            witness.push(key.leaf.as_bytes());
            witness.push(&key.control);
        }
        Ok((ScriptBuf::new(), witness))
    }

    fn ecdsa(
        &self,
        key: &Key,
        hash: [u8; 32],
        covers: EcdsaSighashType,
    ) -> ecdsa::SerializedSignature {
        let message = Message::from_digest(hash);
        let signature = self.secp.sign_ecdsa(&message, &key.pair.secret_key());
        ecdsa::Signature { signature, sighash_type: covers }.serialize()
    }

    /// The signatures of a key and of the one after the next, in the order of the script.
    fn two(
        &self,
        key: usize,
        hash: [u8; 32],
        covers: EcdsaSighashType,
    ) -> [ecdsa::SerializedSignature; 2] {
        [0, 2].map(|after| self.ecdsa(&self.keys[next(key, after)], hash, covers))
    }

    fn schnorr(&self, pair: &Keypair, hash: [u8; 32], covers: TapSighashType) -> Vec<u8> {
        let signature = self.secp.sign_schnorr_no_aux_rand(&Message::from_digest(hash), pair);
        taproot::Signature { signature, sighash_type: covers }.to_vec()
    }
}

impl Key {
    fn new(secp: &Secp256k1<All>, pairs: &[Keypair], at: usize) -> Result<Self> {
        let public_of = |after| PublicKey::new(pairs[next(at, after)].public_key());
        let x_only_of = |after| pairs[next(at, after)].x_only_public_key().0;
        let public = public_of(0);
        let internal: UntweakedPublicKey = x_only_of(0);
        let multisig = [public, public_of(1), public_of(2)]
            .iter()
            .fold(Builder::new().push_opcode(OP_PUSHNUM_2), |script, key| script.push_key(key))
            .push_opcode(OP_PUSHNUM_3)
            .push_opcode(OP_CHECKMULTISIG)
            .into_script();
        let leaf = leaf(&x_only_of(1));
        let tree = TaprootBuilder::new().add_leaf(1, leaf.clone())?;
        let tree = tree.add_leaf(1, self::leaf(&x_only_of(2)))?;
        let tree = tree.finalize(secp, internal).map_err(|_| anyhow!("a tree of two leaves"))?;
        let control = tree.control_block(&(leaf.clone(), LeafVersion::TapScript));
        let control = control.context("the leaf that was added")?.serialize();
        let program = ScriptBuf::new_p2wpkh(&public.wpubkey_hash()?);
        let uncompressed = PublicKey::new_uncompressed(public.inner);
        let scripts = OutputKind::ALL.map(|kind| match kind {
            OutputKind::P2pk => ScriptBuf::new_p2pk(&public),
            OutputKind::P2pkUncompressed => ScriptBuf::new_p2pk(&uncompressed),
            OutputKind::P2pkh => ScriptBuf::new_p2pkh(&public.pubkey_hash()),
            OutputKind::P2shMultisig => multisig.to_p2sh(),
            OutputKind::P2shP2wpkh => program.to_p2sh(),
            OutputKind::P2wpkh => program.clone(),
            OutputKind::P2wshMultisig => multisig.to_p2wsh(),
            OutputKind::P2trKey => ScriptBuf::new_p2tr(secp, internal, None),
            OutputKind::P2trScript => ScriptBuf::new_p2tr_tweaked(tree.output_key()),
            OutputKind::P2wshVerify => verify(&public).to_p2wsh(),
            OutputKind::P2wshUnrun => unrun().to_p2wsh(),
        });
        let tweaked = pairs[at].tap_tweak(secp, None).to_keypair();
        Ok(Self { pair: pairs[at], public, tweaked, multisig, leaf, control, scripts })
    }
}

/// `OP_CHECKSIG` of a key.
fn leaf(key: &XOnlyPublicKey) -> ScriptBuf {
    Builder::new().push_x_only_key(key).push_opcode(OP_CHECKSIG).into_script()
}

/// A script of a key without a standard form.
fn verify(key: &PublicKey) -> ScriptBuf {
    let script = Builder::new().push_key(key).push_opcode(OP_CHECKSIGVERIFY);
    script.push_opcode(OP_PUSHNUM_1).into_script()
}

/// The shortest script with an unexecuted signature check.
fn unrun() -> ScriptBuf {
    let script = Builder::new().push_int(0).push_opcode(OP_IF).push_opcode(OP_CHECKSIG);
    script.push_opcode(OP_ENDIF).push_opcode(OP_PUSHNUM_1).into_script()
}

/// The key `after` positions later, cyclically.
fn next(key: usize, after: usize) -> usize {
    (key + after) % KEYS
}

fn pair(secp: &Secp256k1<All>, random: &mut Random) -> Keypair {
    loop {
        let mut secret = [0; 32];
        random.fill(&mut secret);
        // fails with probability 2^-128
        if let Ok(secret) = SecretKey::from_slice(&secret) {
            return Keypair::from_secret_key(secp, &secret);
        }
    }
}
