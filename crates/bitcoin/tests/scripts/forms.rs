//! Transactions that spend every standard form, signed here.

use super::assembly::{Draft, DraftInput, push, sized};
use super::case::{ALL, Case, Coins, Random};
use super::core_vectors::commit;
use blockmill_bitcoin::script::{Flags, Form, LegacyHashes, SegwitHashes, Spend, TaprootHashes};
use blockmill_bitcoin::types::Block;
use blockmill_hashes::sha256;
use ripemd::{Digest, Ripemd160};
use secp256k1::{Keypair, Message, PublicKey, SecretKey};

/// The hash types of ECDSA signatures.
pub const HASH_TYPES: [u8; 6] = [1, 2, 3, 0x81, 0x82, 0x83];

fn secret(seed: u64) -> SecretKey {
    SecretKey::from_secret_bytes(sha256(&seed.to_le_bytes())).unwrap()
}

fn key(secret: &SecretKey, compressed: bool) -> Vec<u8> {
    let key = PublicKey::from_secret_key(secret);
    if compressed { key.serialize().to_vec() } else { key.serialize_uncompressed().to_vec() }
}

fn hash160(bytes: &[u8]) -> Vec<u8> {
    Ripemd160::digest(sha256(bytes)).to_vec()
}

fn around(before: &[u8], middle: &[u8], after: &[u8]) -> Vec<u8> {
    [before, middle, after].concat()
}

/// A coin of a standard form, and what is needed to spend it.
pub struct Plan {
    pub form: Form,
    pub output: Vec<u8>,
    /// What signatures sign as the script.
    code: Vec<u8>,
    /// What a hash in the output demands: key, redeem script, script.
    reveal: Vec<u8>,
    control: Vec<u8>,
    signers: Vec<SecretKey>,
}

impl Plan {
    /// `signers` of `keys` keys sign, where the form has many.
    pub fn new(form: Form, seed: u64, compressed: bool, keys: usize, signers: &[usize]) -> Plan {
        Plan::with_data(form, seed, compressed, keys, signers, &[])
    }

    /// A taproot script continues after OP_CHECKSIG with `after`.
    fn with_data(
        form: Form,
        seed: u64,
        compressed: bool,
        keys: usize,
        signers: &[usize],
        after: &[u8],
    ) -> Plan {
        let secrets: Vec<_> = (0..keys as u64).map(|i| secret(100 * seed + i)).collect();
        let own = key(&secrets[0], compressed);
        let key_hash = around(&[0x76, 0xa9, 20], &hash160(&own), &[0x88, 0xac]);
        let mut multisig = vec![0x50 + signers.len() as u8];
        secrets.iter().for_each(|secret| push(&mut multisig, &key(secret, compressed)));
        multisig.extend_from_slice(&[0x50 + keys as u8, 0xae]);
        let script_hash = |script: &[u8]| around(&[0xa9, 20], &hash160(script), &[0x87]);
        let program = |hash: &[u8]| around(&[0, hash.len() as u8], hash, &[]);
        let keypair = Keypair::from_secret_key(&secrets[0]);
        let x = keypair.x_only_public_key().0.to_byte_array();
        let leaf = around(&[0x20], &x, &[0xac]);
        let leaf = [&leaf[..], after].concat();
        let (committed, control) = commit(&leaf);
        let mut signing: Vec<_> = signers.iter().map(|i| secrets[*i]).collect();
        let (output, code, reveal) = match form {
            Form::PublicKey => {
                let output = around(&[own.len() as u8], &own, &[0xac]);
                (output.clone(), output, Vec::new())
            }
            Form::KeyHash => (key_hash.clone(), key_hash, own),
            Form::WitnessKeyHash => (program(&hash160(&own)), key_hash, own),
            Form::NestedWitnessKeyHash => (script_hash(&program(&hash160(&own))), key_hash, own),
            Form::TaprootKey => (around(&[0x51, 0x20], &x, &[]), Vec::new(), Vec::new()),
            Form::TaprootScript => (around(&[0x51, 0x20], &committed, &[]), leaf.clone(), leaf),
            Form::Multisig => (multisig.clone(), multisig, Vec::new()),
            Form::ScriptHashMultisig => (script_hash(&multisig), multisig.clone(), multisig),
            Form::WitnessMultisig => (program(&sha256(&multisig)), multisig.clone(), multisig),
            Form::NestedWitnessMultisig => {
                (script_hash(&program(&sha256(&multisig))), multisig.clone(), multisig)
            }
        };
        if !is_multisig(form) {
            signing = vec![secrets[0]];
        }
        Plan { form, output, code, reveal, control, signers: signing }
    }

    /// One signature after the other. A taproot signature of type 1 is also written as type 0.
    fn signatures(&self, spend: &Spend, index: usize, hash_type: u8) -> Vec<Vec<u8>> {
        let (mut legacy, mut segwit) = (LegacyHashes::default(), SegwitHashes::default());
        let mut taproot = TaprootHashes::default();
        let ecdsa = |digest: [u8; 32], secret: &SecretKey| {
            let signature = secp256k1::ecdsa::sign(Message::from_digest(digest), secret);
            let mut bytes = signature.serialize_der().to_vec();
            bytes.push(hash_type);
            bytes
        };
        let wide = hash_type.into();
        match self.form {
            Form::TaprootKey | Form::TaprootScript => {
                let mut leaf = vec![0xc0];
                sized(&mut leaf, &self.code);
                let tag = sha256(b"TapLeaf");
                let leaf = sha256(&[&tag[..], &tag, &leaf].concat());
                let leaf = (self.form == Form::TaprootScript).then_some(&leaf);
                let Some(digest) = taproot.hash(&mut segwit, spend, index, leaf, hash_type) else {
                    return vec![vec![7; 64]];
                };
                let keypair = Keypair::from_secret_key(&self.signers[0]);
                let signature = secp256k1::schnorr::sign_no_aux_rand(&digest, &keypair);
                let mut bytes = signature.to_byte_array().to_vec();
                if hash_type != 0 {
                    bytes.push(hash_type);
                }
                vec![bytes]
            }
            Form::PublicKey | Form::KeyHash | Form::Multisig | Form::ScriptHashMultisig => {
                let digest = legacy.hash(spend, index, &self.code, wide);
                self.signers.iter().map(|secret| ecdsa(digest, secret)).collect()
            }
            _ => {
                let digest = segwit.hash(spend, index, &self.code, wide);
                self.signers.iter().map(|secret| ecdsa(digest, secret)).collect()
            }
        }
    }

    /// The items of the input script, and the witness.
    fn items(&self, signatures: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let reveal = self.reveal.clone();
        let with_dummy = || [vec![Vec::new()], signatures.clone()].concat();
        match self.form {
            Form::PublicKey => (signatures, vec![]),
            Form::KeyHash => ([signatures, vec![reveal]].concat(), vec![]),
            Form::WitnessKeyHash => (vec![], [signatures, vec![reveal]].concat()),
            Form::NestedWitnessKeyHash => {
                let program = around(&[0, 20], &hash160(&reveal), &[]);
                (vec![program], [signatures, vec![reveal]].concat())
            }
            Form::TaprootKey => (vec![], signatures),
            Form::TaprootScript => {
                (vec![], [signatures, vec![reveal, self.control.clone()]].concat())
            }
            Form::Multisig => (with_dummy(), vec![]),
            Form::ScriptHashMultisig => ([with_dummy(), vec![reveal]].concat(), vec![]),
            Form::WitnessMultisig => (vec![], [with_dummy(), vec![reveal]].concat()),
            Form::NestedWitnessMultisig => {
                let program = around(&[0, 32], &sha256(&reveal), &[]);
                (vec![program], [with_dummy(), vec![reveal]].concat())
            }
        }
    }
}

pub fn is_multisig(form: Form) -> bool {
    !matches!(
        form,
        Form::PublicKey
            | Form::KeyHash
            | Form::WitnessKeyHash
            | Form::NestedWitnessKeyHash
            | Form::TaprootKey
            | Form::TaprootScript
    )
}

/// A transaction that spends all plans, and the coins; its inputs still as items.
pub struct Signed {
    pub draft: Draft,
    pub scripts: Vec<Vec<Vec<u8>>>,
    pub coins: Vec<(u64, Vec<u8>)>,
}

impl Signed {
    pub fn new(plans: &[Plan], outputs: usize, hash_types: impl Fn(usize) -> u8) -> Signed {
        let mut draft = Draft { version: 2, lock_time: 77, ..Draft::default() };
        let mut coins = Vec::new();
        for (i, plan) in plans.iter().enumerate() {
            let input = DraftInput { txid: sha256(&[i as u8]), vout: 3, ..DraftInput::default() };
            draft.inputs.push(DraftInput { sequence: 0xffff_ff00 + i as u32, ..input });
            coins.push((1000 + i as u64, plan.output.clone()));
        }
        for i in 0..outputs {
            draft.outputs.push((500 + i as u64, vec![0x51; 3 * i]));
        }
        let mut signed = Signed { draft, scripts: vec![Vec::new(); plans.len()], coins };
        let unsigned = signed.case().unwrap();
        let coins = &unsigned.coins;
        let spend = Spend::new(&unsigned.block, 1, &coins.coins, &coins.scripts).unwrap();
        for (i, plan) in plans.iter().enumerate() {
            let (items, witness) = plan.items(plan.signatures(&spend, i, hash_types(i)));
            signed.scripts[i] = items;
            signed.draft.inputs[i].witness = witness;
        }
        signed
    }

    /// Writes the items of the input scripts.
    pub fn write_scripts(&mut self) {
        for (input, items) in self.draft.inputs.iter_mut().zip(&self.scripts) {
            input.script.clear();
            items.iter().for_each(|item| push(&mut input.script, item));
        }
    }

    pub fn case(&self) -> Option<Case> {
        let mut coins = Coins::default();
        self.coins.iter().for_each(|(value, script)| coins.push(*value, script));
        Case::new(&self.draft.encode(), coins)
    }
}

/// A block of transactions that spend two coins each; coin by coin the form.
pub fn block_of(transactions: usize, form: impl Fn(u64) -> Form) -> (Block, Coins) {
    let (mut bytes, mut coins) = (Vec::new(), Coins::default());
    for number in 0..transactions as u64 {
        let choices = [[0, 1], [0, 2], [1, 2]];
        let plan = |seed: u64| Plan::new(form(seed), seed, true, 3, &choices[seed as usize % 3]);
        let mut signed = Signed::new(&[plan(2 * number), plan(2 * number + 1)], 2, |_| 1);
        signed.write_scripts();
        bytes.extend(signed.draft.encode());
        signed.coins.iter().for_each(|(value, script)| coins.push(*value, script));
    }
    let mut raw = Case::head(1 + transactions as u8);
    raw.extend(bytes);
    let mut block = Block { raw, ..Block::default() };
    block.decode().unwrap();
    (block, coins)
}

fn accepted(plans: &[Plan], outputs: usize, hash_type: impl Fn(usize) -> u8, flags: Flags) {
    let mut signed = Signed::new(plans, outputs, hash_type);
    signed.write_scripts();
    let (verdict, counts) = signed.case().unwrap().verdict(flags);
    assert_eq!(verdict, Ok(()));
    assert_eq!(counts.library, 0, "no input needs the library: {counts:?}");
    for form in Form::ALL {
        let expected = plans.iter().filter(|plan| plan.form == form).count() as u64;
        assert_eq!(counts.forms[form as usize], expected, "{}", form.name());
    }
}

/// All forms, with compressed keys or without where a form allows them.
fn all_forms(compressed: bool) -> Vec<Plan> {
    let taproot = [Form::TaprootKey, Form::TaprootScript];
    let forms = Form::ALL.into_iter().filter(|form| compressed || !taproot.contains(form));
    forms.zip(0..).map(|(form, seed)| Plan::new(form, seed, compressed, 3, &[0, 2])).collect()
}

#[test]
fn every_form_with_every_hash_type() {
    for compressed in [true, false] {
        let plans = all_forms(compressed);
        for hash_type in HASH_TYPES {
            accepted(&plans, plans.len(), |_| hash_type, ALL);
        }
        let mixed = |i: usize| HASH_TYPES[(7 * i + 3) % 6];
        accepted(&plans, plans.len(), mixed, ALL);
    }
    let taproot: Vec<_> = all_forms(true).into_iter().skip(4).take(2).collect();
    accepted(&taproot, 1, |_| 0, ALL);
}

#[test]
fn a_single_output_that_is_not_there() {
    // no output for any input but the first
    for form in Form::ALL {
        let plans = [Plan::new(Form::KeyHash, 50, true, 1, &[]), Plan::new(form, 1, true, 2, &[1])];
        for hash_type in [3, 0x83] {
            let mut signed = Signed::new(&plans, 1, |_| hash_type);
            signed.write_scripts();
            let accepted = signed.case().unwrap().accepts(ALL);
            let taproot = matches!(form, Form::TaprootKey | Form::TaprootScript);
            assert_eq!(accepted, !taproot, "{}", form.name());
        }
    }
}

#[test]
fn every_choice_of_signers() {
    for form in Form::ALL.into_iter().filter(|form| is_multisig(*form)) {
        for keys in 1..=4usize {
            for choice in 1u32..1 << keys {
                let signers: Vec<_> = (0..keys).filter(|i| choice >> i & 1 == 1).collect();
                accepted(&[Plan::new(form, 9, true, keys, &signers)], 1, |_| 1, ALL);
            }
        }
    }
    let many = Plan::new(Form::WitnessMultisig, 11, true, 16, &[0, 3, 4, 9, 15]);
    accepted(&[many], 1, |_| 1, ALL);
    // 520 bytes are room for 15 keys
    let most = Plan::new(Form::ScriptHashMultisig, 11, true, 15, &[14]);
    accepted(&[most], 1, |_| 1, ALL);
}

#[test]
fn signatures_in_the_wrong_order_are_refused() {
    for form in Form::ALL.into_iter().filter(|form| is_multisig(*form)) {
        accepted(&[Plan::new(form, 9, true, 3, &[0, 2])], 1, |_| 1, ALL);
        for signers in [&[2, 0][..], &[1, 0], &[1, 1], &[0, 2, 1]] {
            let mut signed = Signed::new(&[Plan::new(form, 9, true, 3, signers)], 1, |_| 1);
            signed.write_scripts();
            assert!(!signed.case().unwrap().accepts(ALL));
        }
    }
}

#[test]
fn many_inputs_share_what_is_hashed_once() {
    let mut random = Random::new(5);
    let plans: Vec<_> = (0..150)
        .map(|seed| Plan::new(Form::ALL[random.below(10)], seed, true, 3, &[0, 1]))
        .collect();
    accepted(&plans, 150, |i| HASH_TYPES[i % 6], ALL);
    accepted(&plans, 300, |_| 1, ALL);
}

#[test]
fn data_that_never_runs_after_a_tapscript() {
    let spend = |after: &[u8]| {
        let plan = Plan::with_data(Form::TaprootScript, 3, true, 1, &[], after);
        let signed = Signed::new(&[plan], 1, |_| 0);
        let (verdict, counts) = signed.case().unwrap().verdict(ALL);
        (verdict.is_ok(), counts.library == 0)
    };
    let mut long = vec![0, 0x63];
    push(&mut long, &[7; 520]);
    push(&mut long, &[7; 300]);
    let (mut too_long, mut open) = (vec![0, 0x63], long.clone());
    long.push(0x68);
    push(&mut too_long, &[7; 521]);
    too_long.push(0x68);
    open.push(0x60);
    let by_templates =
        [&[][..], &[0, 0x63, 0x68], &[0, 0x63, 3, 1, 2, 3, 0x4f, 0x60, 0, 0x68], &long];
    for after in by_templates {
        assert_eq!(spend(after), (true, true), "{after:02x?}");
        let twice = after.repeat(2);
        assert_eq!(spend(&twice), (true, true), "{twice:02x?}");
    }
    // nothing, a number, an opcode that makes any script succeed
    let by_library = [&[0x61][..], &[0x51, 0x69], &[0, 0x63, 0x50, 0x68], &[0, 0x63, 0x61, 0x68]];
    for after in by_library {
        assert_eq!(spend(after), (true, false), "{after:02x?}");
    }
    let refused = [&[0][..], &[0, 0x63], &[0, 0x63, 2, 0x68], &[0x68], &[0, 0x63, 0x68, 0x68]];
    for after in refused.into_iter().chain([&too_long[..], &open, &[0x51]]) {
        assert_eq!(spend(after), (false, false), "{after:02x?}");
    }
    // a branch that runs
    assert_eq!(spend(&[0x51, 0x63, 0x68]), (true, false));
}
