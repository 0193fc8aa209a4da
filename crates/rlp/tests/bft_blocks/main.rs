//! Blocks that validators sealed: real ones, and every fault of their extra data.

use blockmill_rlp::ethereum::{
    BFT_MIX_HASH, BftEngine, BftExtraData, BftVote, Header, HeaderView, block_hash, block_hashes,
};
use blockmill_rlp::{Decode, Encode, ErrorKind, ManyKeccak, RawList, Reader, U256};

/// Real headers: the hash that Besu gave, where it is known, and the encoding.
fn real() -> Vec<(Option<[u8; 32]>, Vec<u8>)> {
    let mut blocks: Vec<(Option<[u8; 32]>, Vec<u8>)> = vec![];
    let mut lines = include_str!("blocks.txt").lines().skip(1);
    let mut digits = String::new();
    let mut hash = None;
    let mut push = |hash: &mut Option<[u8; 32]>, digits: &mut String| {
        if !digits.is_empty() {
            blocks.push((hash.take(), bytes(digits)));
            digits.clear();
        }
    };
    lines.by_ref().for_each(|line| match line.strip_prefix("hash ") {
        Some(stated) => hash = Some(bytes(stated).try_into().unwrap()),
        None if line.starts_with('#') => push(&mut hash, &mut digits),
        None => digits += line,
    });
    push(&mut hash, &mut digits);
    blocks
}

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

#[test]
fn real_blocks_have_the_hashes_that_besu_gave_them() {
    let blocks = real();
    assert_eq!(blocks.len(), 6);
    let (mut column, mut ends) = (vec![], vec![]);
    let mut engines = vec![];
    for (stated, header) in &blocks {
        let view = HeaderView::decode(header).unwrap();
        assert_eq!(view.hash(), block_hash(header));
        if let Some(stated) = stated {
            assert_eq!(view.hash(), *stated, "block {}", view.number);
        }
        engines.push(view.bft().map(|found| found.engine));
        column.extend(header);
        ends.push(column.len() as u32);
    }
    let (ibft2, qbft) = (Some(BftEngine::Ibft2), Some(BftEngine::Qbft));
    assert_eq!(engines, [ibft2, ibft2, ibft2, qbft, None, ibft2]);
    for hasher in ManyKeccak::all_available() {
        let mut hashes = vec![[0; 32]; blocks.len()];
        block_hashes(&hasher, &column, &ends, &mut hashes);
        assert!(hashes.iter().zip(&blocks).all(|(hash, (_, header))| *hash == block_hash(header)));
    }
}

/// Extra data of these items after the vanity.
fn extra_data(items: [&[u8]; 4]) -> Vec<u8> {
    let vanity = [7u8; 32].encode();
    RawList(&[&vanity, items[0], items[1], items[2], items[3]]).encode()
}

const NO_VALIDATORS: &[u8] = &[0xc0];
const NO_SEALS: &[u8] = &[0xc0];
const IBFT2_ROUND: &[u8] = &[0x84, 0, 0, 1, 2];

/// A vote with this encoded byte.
fn vote(byte: &[u8]) -> Vec<u8> {
    RawList(&[&[9u8; 20].encode(), byte]).encode()
}

#[test]
fn votes_and_rounds_tell_the_engine() {
    let (yes, no_ibft2, no_qbft) = (vote(&[0x81, 0xff]), vote(&[0]), vote(&[0x80]));
    let subject = &[9; 20];
    let (for_it, against) =
        (Some(BftVote { subject, is_for: true }), Some(BftVote { subject, is_for: false }));
    let largest = &[0x83, 0xff, 0xff, 0xff];
    for (sent, round, engine, found, number) in [
        (&[0x80][..], IBFT2_ROUND, BftEngine::Ibft2, None, 258),
        (&yes, IBFT2_ROUND, BftEngine::Ibft2, for_it, 258),
        (&no_ibft2, IBFT2_ROUND, BftEngine::Ibft2, against, 258),
        (&[0xc0], &[0x80], BftEngine::Qbft, None, 0),
        (&yes, &[5], BftEngine::Qbft, for_it, 5),
        (&no_qbft, largest, BftEngine::Qbft, against, 0x00ff_ffff),
    ] {
        let raw = extra_data([NO_VALIDATORS, sent, round, NO_SEALS]);
        let decoded = BftExtraData::decode(&raw).unwrap();
        assert_eq!((decoded.engine, decoded.vote, decoded.round), (engine, found, number));
        let (for_seals, for_hash) = (decoded.for_seals(), decoded.for_hash());
        let vanity = [7u8; 32].encode();
        let head = [&vanity[..], NO_VALIDATORS, sent];
        let list = |rest: &[&[u8]]| RawList(&[&head[..], rest].concat()).encode();
        match engine {
            BftEngine::Ibft2 => assert_eq!((for_seals, for_hash), (list(&[round]), list(&[]))),
            BftEngine::Qbft => {
                let hashed = list(&[&[0x80], NO_SEALS]);
                assert_eq!((for_seals, for_hash), (list(&[round, NO_SEALS]), hashed));
            }
        }
    }
}

#[test]
fn what_is_no_extra_data_of_validators_is_an_error_with_its_place() {
    use ErrorKind::{
        ExpectedBytes, ExpectedList, LeadingZero, TooLarge, TrailingBytes, UnknownVote, WrongLength,
    };
    let bad_vote = vote(&[3]);
    let of_the_other = vote(&[0]);
    let short = RawList(&[&[1u8; 19].encode()]).encode();
    let seal = RawList(&[&[1u8; 64].encode()]).encode();
    for (items, kind) in [
        ([NO_VALIDATORS, &[0xc0], &[0x82, 0, 1], NO_SEALS], LeadingZero),
        ([NO_VALIDATORS, &[0xc0], &[0x85, 1, 0, 0, 0, 0], NO_SEALS], TooLarge { max: 3, found: 5 }),
        ([NO_VALIDATORS, &[0xc0], &[0xc0], NO_SEALS], ExpectedBytes),
        ([NO_VALIDATORS, &[0x80], &[5], NO_SEALS], ExpectedList),
        ([NO_VALIDATORS, &bad_vote, &[5], NO_SEALS], UnknownVote { found: 3 }),
        ([NO_VALIDATORS, &of_the_other, &[5], NO_SEALS], UnknownVote { found: 0 }),
        ([&[0x80], &[0xc0], &[5], NO_SEALS], ExpectedList),
        ([&short, &[0xc0], &[5], NO_SEALS], WrongLength { expected: 20, found: 19 }),
        ([NO_VALIDATORS, &[0xc0], &[5], &seal], WrongLength { expected: 65, found: 64 }),
        ([NO_VALIDATORS, &[0xc0], &[5], &[0xc0, 1]], TrailingBytes { count: 1 }),
    ] {
        let raw = extra_data(items);
        assert_eq!(BftExtraData::decode(&raw).unwrap_err().kind, kind, "{items:x?}");
    }
}

/// The items of a list, as they are encoded.
fn items(list: &[u8]) -> Vec<&[u8]> {
    let mut list = Reader::new(list).list().unwrap();
    std::iter::from_fn(|| Some(list.item().ok()?.raw)).collect()
}

/// Any bit of extra data changed, and any end: an error, or a value that is written as it was read.
#[test]
fn every_changed_bit_is_refused_or_read_as_it_is() {
    for (_, header) in real() {
        let raw = HeaderView::decode(&header).unwrap().extra_data;
        let mut read = 0;
        for at in 0..raw.len() {
            assert!(BftExtraData::decode(&raw[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut changed = raw.to_vec();
                changed[at] ^= 1 << bit;
                let Ok(found) = BftExtraData::decode(&changed) else { continue };
                read += 1;
                let items = items(&changed);
                let end: &[&[u8]] = match found.engine {
                    BftEngine::Ibft2 => &[],
                    BftEngine::Qbft => &[&[0x80], &[0xc0]],
                };
                let hashed = RawList(&[&items[..3], end].concat()).encode();
                assert_eq!(found.for_hash(), hashed, "bit {bit} of byte {at}");
            }
        }
        // vanity and validators may be any
        assert!(read > 8 * 52, "{read}");
    }
}

#[test]
fn only_blocks_that_no_other_engine_makes_are_hashed_without_seals() {
    let seals = RawList(&[&[1u8; 65].encode()]).encode();
    let raw = extra_data([NO_VALIDATORS, &[0xc0], &[5], &seals]);
    let sealed = Header {
        number: 7,
        difficulty: U256::ONE,
        mix_hash: &BFT_MIX_HASH,
        extra_data: &raw,
        ..Header::default()
    };
    let is_whole = |header: Header<'_>| {
        let encoded = header.encode();
        block_hash(&encoded) == blockmill_hashes::keccak256(&encoded)
    };
    assert!(!is_whole(sealed));
    let small = RawList(&[&[0x80], NO_VALIDATORS, &[0xc0], &[5], NO_SEALS]).encode();
    assert!(BftExtraData::decode(&small).is_ok());
    for other in [
        Header { number: 0, ..sealed },
        Header { difficulty: U256::from(2), ..sealed },
        Header { difficulty: U256::ZERO, ..sealed },
        Header { mix_hash: &[0; 32], ..sealed },
        Header { extra_data: &small, ..sealed },
        Header { extra_data: &raw[..raw.len() - 1], ..sealed },
    ] {
        assert!(is_whole(other));
    }
    for bytes in [&[][..], &[0xf9], &[0xf7; 600], &[1; 600]] {
        assert_eq!(block_hash(bytes), blockmill_hashes::keccak256(bytes));
    }
}
