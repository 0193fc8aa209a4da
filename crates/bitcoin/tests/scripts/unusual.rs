//! Random scripts, with and without signatures: the library that reads a transaction once says of
//! each input what it says when it reads the transaction anew. And what it reads of a transaction
//! with thousands of them.

use super::assembly::{Draft, DraftInput, push};
use super::case::{ALL, Case, Coins, Random, verify};
use super::core_vectors::commit;
use super::naive;
use blockmill_bitcoin::script::{
    BlockScripts, Flags, LegacyHashes, Scripts, SegwitHashes, Spend, TaprootHashes,
};
use blockmill_hashes::sha256;
use blockmill_script_interpreter::{Error, Transaction};
use ripemd::{Digest, Ripemd160};
use secp256k1::{Keypair, Message, PublicKey, SecretKey};

/// How a coin holds its script.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holder {
    Bare,
    ScriptHash,
    Witness,
    NestedWitness,
    Tapscript,
}

const HOLDERS: [Holder; 5] =
    [Holder::Bare, Holder::ScriptHash, Holder::Witness, Holder::NestedWitness, Holder::Tapscript];

fn secret() -> SecretKey {
    SecretKey::from_secret_bytes([7; 32]).unwrap()
}

/// Operations that mostly leave a script able to end true, after one that has put a signature, or
/// anything else, on the stack.
fn random_script(holder: Holder, random: &mut Random) -> Vec<u8> {
    let ecdsa = PublicKey::from_secret_key(&secret()).serialize().to_vec();
    let schnorr = Keypair::from_secret_key(&secret()).x_only_public_key().0.to_byte_array();
    let key = if holder == Holder::Tapscript { schnorr.to_vec() } else { ecdsa };
    let mut script = vec![];
    for _ in 0..random.below(5) {
        operation(&mut script, random);
    }
    match random.below(8) {
        0 | 1 => {}
        // a check that never runs
        2 => script.extend_from_slice(&[0, 0x63, 0xac, 0x68]),
        // 1 of 1, and an operation that a tapscript does not have
        3 => {
            script.extend_from_slice(&[0, 0x7c, 0x51]);
            push(&mut script, &key);
            script.extend_from_slice(&[0x51, 0xae]);
        }
        4 => {
            script.push(0x51);
            push(&mut script, &key);
            script.push(0xba);
        }
        way => {
            push(&mut script, &key);
            script.extend_from_slice(if way == 5 { &[0xad, 0x51][..] } else { &[0xac] });
        }
    }
    for _ in 0..random.below(4) {
        operation(&mut script, random);
    }
    script
}

fn operation(script: &mut Vec<u8>, random: &mut Random) {
    let any: [&[u8]; 18] = [
        &[0x61],
        &[0xab],
        // numbers that are true, and are dropped or checked
        &[0x51, 0x75],
        &[0x52, 0x69],
        &[0x76, 0x75],
        &[0x51, 0x51, 0x93, 0x52, 0x88],
        &[0x51, 0x63, 0x61, 0x67, 0x6a, 0x68],
        &[0, 0x63, 0x6a, 0x68],
        // hashes
        &[0x51, 0xa9, 0x75],
        &[0x51, 0xa8, 0x82, 0x77, 0x75],
        // lock time and sequence, held and not
        &[0x01, 0x4d, 0xb1, 0x75],
        &[0x01, 0x4e, 0xb1, 0x75],
        &[0x53, 0xb2, 0x75],
        &[0x60, 0xb2, 0x75],
        // a swap, a number below, an opcode that is reserved, any opcode
        &[0x51, 0x7c, 0x77],
        &[0x78, 0x75],
        &[0x50],
        &[],
    ];
    let chosen = random.below(4 * any.len());
    match any.get(chosen % any.len()) {
        // rarely what mostly fails
        Some([0x50] | []) if chosen >= any.len() => script.push(0x61),
        Some([]) => script.push(random.next_u64() as u8),
        Some(operation) => script.extend_from_slice(operation),
        None => {}
    }
}

/// The output, its control block, and the program that a nested witness shows.
fn output_of(holder: Holder, script: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let script_hash =
        |script: &[u8]| [&[0xa9, 20], &Ripemd160::digest(sha256(script))[..], &[0x87]].concat();
    let program = [&[0, 32][..], &sha256(script)].concat();
    match holder {
        Holder::Bare => (script.to_vec(), vec![], vec![]),
        Holder::ScriptHash => (script_hash(script), vec![], vec![]),
        Holder::Witness => (program, vec![], vec![]),
        Holder::NestedWitness => (script_hash(&program), vec![], program),
        Holder::Tapscript => {
            let (key, control) = commit(script);
            ([&[0x51, 0x20][..], &key].concat(), control, vec![])
        }
    }
}

fn signature(holder: Holder, spend: &Spend, index: usize, script: &[u8], hash_type: u8) -> Vec<u8> {
    let mut segwit = SegwitHashes::default();
    if holder == Holder::Tapscript {
        let leaf = [&[0xc0, script.len() as u8][..], script].concat();
        let tag = sha256(b"TapLeaf");
        let leaf = sha256(&[&tag[..], &tag, &leaf].concat());
        let hashes = &mut TaprootHashes::default();
        let hash = hashes.hash(&mut segwit, spend, index, Some(&leaf), hash_type);
        let keypair = Keypair::from_secret_key(&secret());
        let signature = secp256k1::schnorr::sign_no_aux_rand(&hash.unwrap_or_default(), &keypair);
        return [&signature.to_byte_array()[..], &[hash_type]].concat();
    }
    // what an OP_CODESEPARATOR leaves
    let code = &script[script.iter().rposition(|byte| *byte == 0xab).map_or(0, |at| at + 1)..];
    let digest = match holder {
        Holder::Bare | Holder::ScriptHash => {
            LegacyHashes::default().hash(spend, index, code, hash_type.into())
        }
        _ => segwit.hash(spend, index, code, hash_type.into()),
    };
    let signature = secp256k1::ecdsa::sign(Message::from_digest(digest), &secret());
    [&signature.serialize_der()[..], &[hash_type]].concat()
}

/// A transaction of random unusual inputs.
fn random_case(random: &mut Random) -> Case {
    let count = 1 + random.below(6);
    let plans: Vec<_> = (0..count)
        .map(|_| {
            let holder = random.pick(&HOLDERS);
            (holder, random_script(holder, random))
        })
        .collect();
    let mut draft = Draft { version: 2, lock_time: 77, ..Draft::default() };
    let mut coins = Coins::default();
    for (at, (holder, script)) in plans.iter().enumerate() {
        let txid = sha256(&[at as u8]);
        draft.inputs.push(DraftInput { txid, sequence: 7, ..DraftInput::default() });
        coins.push(1000 + at as u64, &output_of(*holder, script).0);
    }
    draft.outputs = (0..random.below(4)).map(|at| (at, vec![0x51; at as usize])).collect();
    let unsigned = Case::new(&draft.encode(), coins.clone()).unwrap();
    let spend = Spend::new(&unsigned.block, 1, &coins.coins, &coins.scripts).unwrap();
    for (at, (holder, script)) in plans.iter().enumerate() {
        let hash_type = random.pick(&[1, 1, 2, 3, 0x81, 0x83]);
        let item = match random.below(8) {
            0 => vec![],
            1 => vec![1],
            _ => signature(*holder, &spend, at, script, hash_type),
        };
        let (_, control, program) = output_of(*holder, script);
        let DraftInput { script: input, witness, .. } = &mut draft.inputs[at];
        match holder {
            Holder::Bare => push(input, &item),
            Holder::ScriptHash => {
                push(input, &item);
                push(input, script);
            }
            Holder::Witness | Holder::NestedWitness => {
                *witness = vec![item, script.clone()];
                if !program.is_empty() {
                    push(input, &program);
                }
            }
            Holder::Tapscript => *witness = vec![item, script.clone(), control],
        }
        // an annex, which taproot signs
        if random.below(16) == 0 {
            witness.push(vec![0x50, 1]);
        }
    }
    Case::new(&draft.encode(), coins).unwrap()
}

#[test]
fn a_transaction_read_once_gets_the_verdicts_of_one_read_for_each_input() {
    let mut random = Random::new(12);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..4000 {
        let case = random_case(&mut random);
        let flags = random.pick(&[
            ALL,
            ALL,
            ALL,
            ALL.without(Flags::TAPROOT),
            ALL.without(Flags::WITNESS).without(Flags::TAPROOT),
            Flags::P2SH,
            Flags::NONE,
        ]);
        let part = case.part(flags);
        let encoding = part.block.transactions[1].span.slice(&part.block.raw);
        let read = Transaction::read(encoding, some(&part, part.coins.len())).unwrap();
        for input in 0..part.coins.len() {
            let verdict = read.verify(input, naive::bits(flags));
            assert_eq!(verdict, naive::verify(&part, input), "input {input} {flags:?}");
            *(if verdict.is_ok() { &mut accepted } else { &mut refused }) += 1;
        }
        let (_, counts) = case.verdict(flags);
        assert!(counts.library > 0 || counts.inputs == 0, "{counts:?}");
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 4000 && refused > 2000, "{accepted} accepted, {refused} refused");
}

#[test]
fn reports_what_is_not_a_transaction_or_an_input() {
    let case = random_case(&mut Random::new(1));
    let part = case.part(ALL);
    let encoding = part.block.transactions[1].span.slice(&part.block.raw);
    let read =
        |encoding: &[u8], coins: usize| Transaction::read(encoding, some(&part, coins)).map(|_| ());
    assert_eq!(read(encoding, part.coins.len()), Ok(()));
    assert_eq!(read(encoding, part.coins.len() - 1), Err(Error::ERR_SPENT_OUTPUTS_MISMATCH));
    let longer = [encoding, &[0]].concat();
    assert_eq!(read(&longer, part.coins.len()), Err(Error::ERR_TX_SIZE_MISMATCH));
    for end in 0..encoding.len() {
        let found = read(&encoding[..end], part.coins.len());
        assert_eq!(found, Err(Error::ERR_TX_DESERIALIZE), "{end} bytes");
    }
    let whole = Transaction::read(encoding, some(&part, part.coins.len())).unwrap();
    assert_eq!(whole.verify(part.coins.len(), 0), Err(Error::ERR_TX_INDEX));
    assert_eq!(whole.verify(0, 2), Err(Error::ERR_INVALID_FLAGS));
}

/// The first `count` coins.
fn some<'a>(part: &BlockScripts<'a>, count: usize) -> impl Iterator<Item = (u64, &'a [u8])> {
    let (coins, scripts) = (part.coins, part.scripts);
    coins[..count].iter().map(move |coin| (coin.value.to_sat(), coin.script.slice(scripts)))
}

/// Were it read for each input, or in each batch of signatures again, that would be a way to stop
/// an import with one block.
#[test]
fn a_transaction_of_thousands_of_unusual_inputs_is_read_once() {
    const INPUTS: u32 = 10_000;
    let key = PublicKey::from_secret_key(&secret()).serialize();
    let never_runs = vec![0, 0x63, 0xac, 0x68, 0x91];
    // with an empty signature, which does not hold
    let runs = [&[33][..], &key, &[0xac, 0x91]].concat();
    for script in [never_runs, runs] {
        let mut draft = Draft { version: 2, ..Draft::default() };
        let mut coins = Coins::default();
        let output = output_of(Holder::Witness, &script).0;
        for vout in 0..INPUTS {
            let witness = vec![vec![], script.clone()];
            draft.inputs.push(DraftInput { vout, witness, ..DraftInput::default() });
            coins.push(1, &output);
        }
        let encoding = draft.encode();
        let case = Case::new(&encoding, coins).unwrap();
        let (verdict, counts) = verify(&case.part(ALL), Scripts::Templates);
        assert_eq!(verdict, Ok(()));
        assert_eq!(counts.library, u64::from(INPUTS));
        assert_eq!(counts.library_bytes, encoding.len() as u64);
    }
}
