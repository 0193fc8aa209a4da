//! Real and corrupt blocks through the decoder, against the plain one.

use crate::naive;
use crate::naive::Plain;
use crate::real_blocks;
use blockmill_bitcoin::types::{Block, BlockHash, Error, hash_blocks};
use blockmill_hashes::{ManySha256, sha256d};
use blockmill_testkit::Random;
use blockmill_verdict::Span;

/// Each part of `block` is that of `plain`, and so are the ids.
fn assert_same(block: &Block, plain: &Plain, name: &str) {
    assert_eq!(block.hash, BlockHash(sha256d(&plain.header)), "{name}");
    assert_eq!(block.transactions.len(), plain.transactions.len(), "{name}");
    assert_eq!(block.txids.len(), plain.transactions.len(), "{name}");
    assert_eq!(block.wtxids.len(), plain.transactions.len(), "{name}");
    let (mut inputs_seen, mut outputs_seen, mut end) = (0, 0, 0);
    for (i, expected) in plain.transactions.iter().enumerate() {
        let found = &block.transactions[i];
        let bytes = |span: Span| span.slice(&block.raw).to_vec();
        let (whole, stripped) = (expected.encode(true), expected.encode(false));
        assert_eq!(bytes(found.span), whole, "{name}, transaction {i}");
        assert_eq!(found.stripped_size(), stripped.len());
        assert_eq!(found.weight(), 3 * stripped.len() + whole.len());
        let middle = [bytes(found.inputs_span), bytes(found.outputs_span)].concat();
        assert_eq!(middle, stripped[4..stripped.len() - 4]);
        assert_eq!((found.version, found.lock_time), (expected.version, expected.lock_time));
        assert_eq!(found.has_witness, expected.has_witness());
        assert_eq!(block.txids[i], sha256d(&stripped), "{name}, transaction {i}");
        let wtxid = if i == 0 { [0; 32] } else { sha256d(&whole) };
        assert_eq!(block.wtxids[i], wtxid, "{name}, transaction {i}");
        assert_eq!(block.inputs_of(found).len(), expected.inputs.len());
        for (found, expected) in block.inputs_of(found).iter().zip(&expected.inputs) {
            assert_eq!(block.outpoint_bytes(found)[..], expected.outpoint);
            let outpoint = block.outpoint(found);
            assert_eq!(
                [&outpoint.txid.0[..], &outpoint.vout.to_le_bytes()].concat(),
                expected.outpoint
            );
            assert_eq!(bytes(found.script), expected.script);
            assert_eq!(found.sequence, expected.sequence);
            assert!(block.witness(found).eq(expected.witness.iter().map(|item| &item[..])));
        }
        assert_eq!(block.outputs_of(found).len(), expected.outputs.len());
        for (found, expected) in block.outputs_of(found).iter().zip(&expected.outputs) {
            assert_eq!(
                (found.value, bytes(found.script)),
                (expected.value, expected.script.clone())
            );
        }
        inputs_seen += expected.inputs.len();
        outputs_seen += expected.outputs.len();
        assert!(found.span.start >= end, "transactions overlap");
        end = found.span.end;
    }
    assert_eq!((block.inputs.len(), block.outputs.len()), (inputs_seen, outputs_seen));
    assert_eq!(block.stripped_size(), plain.encode(false).len());
    assert_eq!(block.weight(), 3 * plain.encode(false).len() + block.raw.len());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn decodes_real_blocks_as_the_plain_decoder_does() {
    let mut block = Block::default();
    let (mut count, mut with_witness) = (0, 0);
    for source in real_blocks::all() {
        for (i, raw) in source.blocks.iter().enumerate() {
            let name = format!("{}, block {i}", source.name);
            let plain = Plain::decode(raw).unwrap();
            assert_eq!(plain.encode(true), *raw, "{name}");
            block.raw.clone_from(raw);
            block.decode().unwrap();
            assert_eq!(block.raw, *raw, "{name}: hashing changed the bytes");
            assert_same(&block, &plain, &name);
            count += block.transactions.len();
            with_witness += block.transactions.iter().filter(|each| each.has_witness).count();
        }
    }
    println!("{count} transactions, {with_witness} with witnesses");
    assert_eq!((count, with_witness), (12_927, 3_140));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_way_to_hash_gives_the_same_ids() {
    for source in real_blocks::all() {
        let expected = real_blocks::decoded(&source.blocks[0]);
        for hasher in ManySha256::all_available() {
            let mut block = Block { raw: source.blocks[0].clone(), ..Block::default() };
            block.decode_with(&hasher).unwrap();
            assert_eq!(block.hash, expected.hash, "{}", hasher.name());
            assert_eq!(block.txids, expected.txids, "{}", hasher.name());
            assert_eq!(block.wtxids, expected.wtxids, "{}", hasher.name());
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_hashed_together_have_the_same_ids() {
    for source in real_blocks::all() {
        let block = |raw: &Vec<u8>| Block { raw: raw.clone(), ..Block::default() };
        let mut blocks: Vec<_> = source.blocks.iter().map(block).collect();
        blocks.iter_mut().for_each(|block| block.parse().unwrap());
        hash_blocks(&mut blocks, &ManySha256::detect());
        for (block, raw) in blocks.iter().zip(&source.blocks) {
            let single = real_blocks::decoded(raw);
            assert_eq!(block.raw, *raw);
            assert_eq!(block.hash, single.hash, "{}", source.name);
            assert_eq!(block.txids, single.txids, "{}", source.name);
            assert_eq!(block.wtxids, single.wtxids, "{}", source.name);
        }
    }
}

/// A block of two transactions, the second with two witnesses, the first of them empty.
fn small() -> Plain {
    let input = |byte: u8, witness| naive::TxIn {
        outpoint: vec![byte; 36],
        script: vec![byte; 3],
        sequence: u32::from(byte),
        witness,
    };
    let output = |value| naive::TxOut { value, script: vec![0x51] };
    let witness = vec![vec![7; 300], Vec::new()];
    let first = naive::Tx {
        version: 1,
        inputs: vec![input(0, Vec::new())],
        outputs: vec![output(50)],
        lock_time: 0x0102_0304,
    };
    let second = naive::Tx {
        version: -2,
        inputs: vec![input(1, Vec::new()), input(2, witness)],
        outputs: vec![output(-1), output(i64::MAX)],
        lock_time: 0xffff_fffe,
    };
    Plain { header: (0..80).collect(), transactions: vec![first, second] }
}

fn decode(raw: Vec<u8>) -> Result<Block, Error> {
    let mut block = Block { raw, ..Block::default() };
    block.decode().map(|()| block)
}

#[test]
fn decodes_what_the_plain_encoder_writes() {
    let plain = small();
    assert_same(&decode(plain.encode(true)).unwrap(), &plain, "small");
    assert_same(
        &decode(plain.encode(false)).unwrap(),
        &Plain::decode(&plain.encode(false)).unwrap(),
        "stripped",
    );
    let empty = Plain { transactions: Vec::new(), ..plain };
    assert_same(&decode(empty.encode(true)).unwrap(), &empty, "no transactions");
}

#[test]
fn hashes_a_witness_of_one_byte() {
    // marker, flag and lock time are moved while hashing; here they and the witness are shortest
    let mut plain = small();
    let inputs = &mut plain.transactions[1].inputs;
    inputs.remove(0);
    inputs[0].witness = vec![Vec::new()];
    assert_same(&decode(plain.encode(true)).unwrap(), &plain, "one byte");
}

#[test]
fn takes_a_transaction_without_inputs_and_outputs_for_one() {
    let mut plain = small();
    plain.transactions[1].inputs.clear();
    plain.transactions[1].outputs.clear();
    assert_same(&decode(plain.encode(true)).unwrap(), &plain, "nothing in it");
}

#[test]
fn refuses_each_cut_and_names_the_place() {
    let raw = small().encode(true);
    for length in 0..raw.len() {
        let error = decode(raw[..length].to_vec()).unwrap_err();
        let (Error::Truncated { at, .. } | Error::Count { at, .. }) = error else {
            panic!("{length} bytes: {error}");
        };
        assert!(at as usize <= length, "{length} bytes: {error}");
    }
}

#[test]
fn refuses_what_core_refuses() {
    let raw = small().encode(true);
    let with = |at: usize, old: usize, new: &[u8]| {
        let mut raw = raw.clone();
        raw.splice(at..at + old, new.iter().copied());
        decode(raw).unwrap_err()
    };
    let second = 81 + small().transactions[0].encode(true).len();
    assert_eq!(
        with(raw.len(), 0, &[0]),
        Error::Trailing { expected: raw.len() as u32, found: raw.len() as u32 + 1 }
    );
    let not_canonical = |at, expected, found| Error::NotCanonical { at, expected, found };
    assert_eq!(with(80, 1, &[0xfd, 2, 0]), not_canonical(80, 0xfd, 2));
    assert_eq!(with(80, 1, &[0xfe, 0xff, 0xff, 0, 0]), not_canonical(80, 0x1_0000, 0xffff));
    let long = [0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    assert_eq!(with(80, 1, &long), not_canonical(80, 0x1_0000_0000, 0xffff_ffff));
    assert!(matches!(with(80, 1, &[0xff; 9]), Error::Count { at: 80, found: u64::MAX, .. }));
    assert!(matches!(with(80, 1, &[200]), Error::Count { at: 80, found: 200, .. }));
    let flag = second as u32 + 5;
    assert_eq!(with(second + 5, 1, &[3]), Error::Flag { at: flag, found: 3 });
    let witnesses = raw.len() - 4 - (1 + 1 + 3 + 300 + 1);
    let error = with(witnesses, raw.len() - 4 - witnesses, &[0, 0]);
    assert_eq!(error, Error::SuperfluousWitness { at: witnesses as u32 });
    let error = decode(vec![0; 4_000_001]).unwrap_err();
    assert_eq!(error, Error::TooLong { expected: 4_000_000, found: 4_000_001 });
}

#[test]
fn a_refused_block_leaves_no_lists() {
    let mut raw = small().encode(true);
    let mut block = decode(raw.clone()).unwrap();
    raw.pop();
    block.raw = raw;
    assert!(block.decode().is_err());
    assert!(block.transactions.is_empty() && block.inputs.is_empty() && block.outputs.is_empty());
    assert!(block.txids.is_empty() && block.wtxids.is_empty());
}

/// Changes `raw` at one to three random places.
fn corrupt(raw: &mut Vec<u8>, numbers: &mut Random) {
    const TELLING: [u8; 8] = [0, 1, 2, 0xfc, 0xfd, 0xfe, 0xff, 0x80];
    for _ in 0..=numbers.below(3) {
        let at = 80 + numbers.below(raw.len() - 80);
        match numbers.below(6) {
            0 => raw.truncate(at.max(81)),
            1 => raw.insert(at, TELLING[numbers.below(TELLING.len())]),
            2 => drop(raw.remove(at)),
            3 => raw[at] ^= 1 << numbers.below(8),
            4 => raw[at] = TELLING[numbers.below(TELLING.len())],
            _ => {
                let from = 80 + numbers.below(raw.len() - 80);
                let copy = raw[from..raw.len().min(from + numbers.below(50))].to_vec();
                raw.splice(at..at, copy);
            }
        }
        if raw.len() < 82 {
            return;
        }
    }
}

#[test]
fn agrees_with_the_plain_decoder_on_corrupt_blocks() {
    agrees_on_corrupt_blocks(&[small().encode(true), small().encode(false)]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn agrees_with_the_plain_decoder_on_corrupt_real_blocks() {
    // short blocks, so that corruption often hits a count
    let real = real_blocks::all().into_iter().flat_map(|source| source.blocks);
    let short = real.filter(|raw| (216..6_000).contains(&raw.len()));
    let seeds: Vec<_> = short.step_by(3).take(150).collect();
    assert_eq!(seeds.len(), 150);
    agrees_on_corrupt_blocks(&seeds);
}

fn agrees_on_corrupt_blocks(seeds: &[Vec<u8>]) {
    let mut numbers = Random::new(0x5eed_b10c);
    let mut block = Block::default();
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..20_000 {
        block.raw.clone_from(&seeds[round % seeds.len()]);
        corrupt(&mut block.raw, &mut numbers);
        let before = block.raw.clone();
        let plain = Plain::decode(&before);
        match (block.decode(), &plain) {
            (Ok(()), Some(plain)) => {
                assert_same(&block, plain, &format!("round {round}"));
                assert_eq!(block.raw, before);
                accepted += 1;
            }
            (Err(_), None) => refused += 1,
            (found, expected) => panic!("round {round}: {found:?}, {expected:?}\n{before:02x?}"),
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 2_000 && refused > 2_000);
}
