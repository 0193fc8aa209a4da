//! Solutions of signet blocks.

use super::assembly::{Draft, DraftInput, push, sized};
use blockmill_bitcoin::Hash;
use blockmill_bitcoin::script::{Reason, SolutionFault, check_solution};
use blockmill_bitcoin::types::Block;
use blockmill_hashes::{sha256, sha256d};
use secp256k1::{Message, PublicKey, SecretKey};

const HEADER: [u8; 4] = [0xec, 0xc7, 0xda, 0xa2];

/// A block whose coinbase has these output scripts, and a number of other transactions.
fn block(outputs: &[Vec<u8>], others: usize) -> Block {
    let coinbase = Draft {
        version: 2,
        inputs: vec![DraftInput {
            vout: u32::MAX,
            script: vec![1, 9],
            sequence: u32::MAX,
            witness: vec![vec![0; 32]],
            ..DraftInput::default()
        }],
        outputs: outputs.iter().map(|script| (7, script.clone())).collect(),
        lock_time: 0,
    };
    let mut raw: Vec<u8> = (0..80).collect();
    raw.push(1 + others as u8);
    raw.extend(coinbase.encode());
    for i in 0..others {
        let input = DraftInput { vout: i as u32, ..DraftInput::default() };
        let outputs = vec![(1, vec![0x51])];
        raw.extend(Draft { inputs: vec![input], outputs, ..Draft::default() }.encode());
    }
    let mut block = Block { raw, ..Block::default() };
    block.decode().unwrap();
    block
}

fn commitment(after: &[u8]) -> Vec<u8> {
    let mut script = vec![0x6a];
    push(&mut script, &[&[0xaa, 0x21, 0xa9, 0xed][..], &[5; 32]].concat());
    script.extend_from_slice(after);
    script
}

/// The push of a solution.
fn solution(script: &[u8], witness: &[Vec<u8>]) -> Vec<u8> {
    let mut data = HEADER.to_vec();
    sized(&mut data, script);
    data.push(witness.len() as u8);
    witness.iter().for_each(|item| sized(&mut data, item));
    let mut out = Vec::new();
    push(&mut out, &data);
    out
}

/// What a signature of a P2WPKH challenge signs, from the block without its solution.
fn signed_by_key_hash(bare: &Block, challenge: &[u8], key_hash: &[u8]) -> Hash {
    let mut row = bare.txids.clone();
    while row.len() > 1 {
        if row.len() % 2 == 1 {
            row.push(row[row.len() - 1]);
        }
        row = row.chunks(2).map(|pair| sha256d(&pair.concat())).collect();
    }
    let mut data = bare.raw[..36].to_vec();
    data.extend_from_slice(&row[0]);
    data.extend_from_slice(&bare.raw[68..72]);
    let mut script = vec![0];
    push(&mut script, &data);
    let to_spend = Draft {
        inputs: vec![DraftInput { vout: u32::MAX, script, ..DraftInput::default() }],
        outputs: vec![(0, challenge.to_vec())],
        ..Draft::default()
    };
    let mut outpoint = sha256d(&to_spend.encode()).to_vec();
    outpoint.extend_from_slice(&[0; 4]);
    let mut preimage = vec![0; 4];
    preimage.extend_from_slice(&sha256d(&outpoint));
    preimage.extend_from_slice(&sha256d(&[0; 4]));
    preimage.extend_from_slice(&outpoint);
    preimage.extend_from_slice(&[0x19, 0x76, 0xa9, 20]);
    preimage.extend_from_slice(key_hash);
    preimage.extend_from_slice(&[0x88, 0xac]);
    preimage.extend_from_slice(&[0; 12]);
    preimage.extend_from_slice(&sha256d(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0x6a]));
    preimage.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    sha256d(&preimage)
}

#[test]
fn a_signed_block_and_no_other() {
    use ripemd::{Digest, Ripemd160};
    let secret = SecretKey::from_secret_bytes(sha256(b"signet")).unwrap();
    let key = PublicKey::from_secret_key(&secret).serialize();
    let key_hash = Ripemd160::digest(sha256(&key)).to_vec();
    let challenge = [&[0, 20][..], &key_hash].concat();
    for others in 0..4 {
        let mut header = Vec::new();
        push(&mut header, &HEADER);
        let outputs = |after: &[u8]| [vec![0x51], commitment(after), vec![0x52]];
        let bare = block(&outputs(&header), others);
        let digest = signed_by_key_hash(&bare, &challenge, &key_hash);
        let signature = secp256k1::ecdsa::sign(Message::from_digest(digest), &secret);
        let mut signature = signature.serialize_der().to_vec();
        signature.push(1);
        let witness = [signature, key.to_vec()];
        let push = solution(&[], &witness);
        let good = block(&outputs(&push), others);
        assert_eq!(check_solution(&good, &challenge), Ok(()));

        let refused = Err(SolutionFault::Script(Reason::Refused));
        for at in [0, 4, 68] {
            let mut raw = good.raw.clone();
            raw[at] ^= 1;
            let mut changed = Block { raw, ..Block::default() };
            changed.decode().unwrap();
            assert_eq!(check_solution(&changed, &challenge), refused, "header byte {at}");
        }
        // time and proof of work are found after signing: bits and nonce may change
        let mut mined = good.clone();
        mined.raw[76] ^= 1;
        assert_eq!(check_solution(&mined, &challenge), Ok(()));
        assert_eq!(check_solution(&block(&outputs(&push), others + 1), &challenge), refused);
        assert_eq!(check_solution(&block(&outputs(&[]), others), &challenge), refused);
        let twice = block(&outputs(&[push.clone(), push].concat()), others);
        assert_eq!(check_solution(&twice, &challenge), refused);
    }
}

#[test]
fn challenges_that_anyone_fulfils() {
    let outputs = |after: &[u8]| [commitment(after)];
    // no solution at all, an empty one, one with an input script
    assert_eq!(check_solution(&block(&outputs(&[]), 2), &[0x51]), Ok(()));
    assert_eq!(check_solution(&block(&outputs(&solution(&[], &[])), 2), &[0x51]), Ok(()));
    assert_eq!(check_solution(&block(&outputs(&solution(&[0x51], &[])), 2), &[]), Ok(()));
    let program = [&[0, 32][..], &sha256(&[0x51])].concat();
    let witness = solution(&[], &[vec![0x51]]);
    assert_eq!(check_solution(&block(&outputs(&witness), 2), &program), Ok(()));
}

#[test]
fn solutions_of_another_form() {
    let with = |data: &[u8]| {
        let mut after = Vec::new();
        push(&mut after, &[&HEADER[..], data].concat());
        check_solution(&block(&[commitment(&after)], 1), &[0x51])
    };
    assert_eq!(with(&[0, 0]), Ok(()));
    for data in [&[0][..], &[0, 0, 0], &[1], &[0, 1], &[0, 1, 2, 9], &[0xfd, 0, 0, 0], &[0xff]] {
        assert_eq!(with(data), Err(SolutionFault::Form), "{data:?}");
    }
    assert_eq!(check_solution(&block(&[vec![0x51]], 1), &[0x51]), Err(SolutionFault::NoCommitment));
}
