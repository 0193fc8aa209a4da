//! Receipts and logs in all their forms.

use crate::random::bytes;
use crate::{encoding, ends_exactly, error};
use blockmill_rlp::ethereum::{Log, Outcome, Receipt, StoredLogs, StoredReceipt, TransactionType};
use blockmill_rlp::{Decode, Encode, ErrorKind, List, OnePass, Write};
use blockmill_testkit::Random;

/// Stored receipts of geth for some blocks of two chains: a chain, a number and a list in hex on
/// each line.
const STORED: &str = include_str!("../../../ethereum/tests/real_blocks/stored-receipts.txt");

/// Calls `check` with the receipt put together again from its parts.
fn rebuilt(receipt: &Receipt<'_>, check: impl FnOnce(&Receipt<'_>)) {
    let logs: Vec<_> = receipt.logs.iter().collect();
    let topics: Vec<Vec<_>> = logs.iter().map(|log| log.topics.iter().collect()).collect();
    let parts = logs.iter().zip(&topics);
    let logs: Vec<_> =
        parts.map(|(log, topics)| Log { topics: List::Values(topics), ..*log }).collect();
    check(&Receipt { logs: List::Values(&logs), ..*receipt });
}

/// Every form of the receipt comes back.
fn comes_back(receipt: &Receipt<'_>) {
    let bytes = encoding(receipt);
    let found = Receipt::decode(&bytes).unwrap();
    assert_eq!(found, *receipt);
    let canonical = encoding(&receipt.canonical());
    assert_eq!(Receipt::decode_canonical(&canonical).as_ref(), Ok(receipt));
    let stored = encoding(&receipt.stored());
    let stored_found = StoredReceipt::decode(&stored).unwrap();
    assert!(stored_found.logs.iter().eq(receipt.logs.iter()));
    assert_eq!(stored_found.outcome, receipt.outcome);
    assert_eq!(stored_found.cumulative_gas, receipt.cumulative_gas);
    for found in [&found, receipt] {
        rebuilt(found, |again| {
            assert_eq!(encoding(again), bytes);
            assert_eq!(encoding(&again.canonical()), canonical);
            assert_eq!(encoding(&again.stored()), stored);
        });
    }
    assert_eq!(found.encode(), bytes);
    assert_eq!(stored_found.encode(), stored);
}

#[test]
fn random_receipts_come_back_in_every_form() {
    let mut random = Random::new(3);
    let (address, topics, bloom) = (random.array(), [0; 5].map(|_| random.array()), [7; 256]);
    let topics: Vec<&[u8; 32]> = topics.iter().collect();
    let root = random.array();
    for round in 0..400 {
        let data: Vec<_> = (0..random.below(6)).map(|_| bytes(&mut random, 700)).collect();
        let topics = |data: &Vec<u8>| List::Values(&topics[..data.len() % 6]);
        let log = |data| Log { address: &address, topics: topics(data), data };
        let logs: Vec<_> = data.iter().map(log).collect();
        let receipt = Receipt {
            kind: TransactionType::ALL[round % 5],
            outcome: [Outcome::Failure, Outcome::Success, Outcome::Root(&root)][round % 3],
            cumulative_gas: random.any_length(),
            bloom: &bloom,
            logs: List::Values(&logs),
        };
        comes_back(&receipt);
        if round < 40 {
            ends_exactly::<Receipt<'_>>(&receipt.encode(), &mut vec![]);
            ends_exactly::<StoredReceipt<'_>>(&receipt.stored().encode(), &mut vec![]);
            let canonical = receipt.canonical().encode();
            for len in 0..canonical.len() {
                assert!(Receipt::decode_canonical(&canonical[..len]).is_err());
            }
        }
    }
}

/// A receipt of a typed transaction: its list begins at byte 4, after a prefix and the type.
fn typed(fields: impl Fn(&mut OnePass)) -> Vec<u8> {
    let mut out = OnePass::default();
    out.envelope(2, |out| out.list(&fields));
    out.into_bytes()
}

#[test]
fn wrong_fields_are_named_with_their_place() {
    let good = |out: &mut OnePass, outcome: &[u8], bloom: usize, topic: usize| {
        out.bytes(outcome);
        out.u64(21_000);
        out.bytes(&vec![0; bloom]);
        out.list(|out| {
            out.list(|out| {
                out.fixed(&[1; 20]);
                out.list(|out| out.bytes(&vec![2; topic]));
                out.bytes(b"data");
            });
        });
    };
    let verdict = |outcome: &[u8], bloom, topic| {
        error::<Receipt<'_>>(&typed(|out| good(out, outcome, bloom, topic)))
    };
    assert!(Receipt::decode(&typed(|out| good(out, &[1], 256, 32))).is_ok());
    assert_eq!(verdict(&[2], 256, 32), (7, ErrorKind::UnknownStatus { found: 2 }));
    let wrong = |expected, found| ErrorKind::WrongLength { expected, found };
    assert_eq!(verdict(&[9; 31], 256, 32), (7, wrong(32, 31)));
    assert_eq!(verdict(&[1], 255, 32), (11, wrong(256, 255)));
    // after the bloom of 259 bytes: prefixes of the logs, of the log, the address, of the topics
    let at = 11 + 259 + 2 + 2 + 21 + 1;
    assert_eq!(verdict(&[1], 256, 31), (at, wrong(32, 31)));
    let longer = typed(|out| {
        good(out, &[], 256, 32);
        out.u64(0);
    });
    let end = longer.len() - 1;
    assert_eq!(error::<Receipt<'_>>(&longer), (end, ErrorKind::TrailingBytes { count: 1 }));
    assert_eq!(error::<Receipt<'_>>(&[0x05]), (0, ErrorKind::UnknownType { found: 5 }));
    assert_eq!(error::<Receipt<'_>>(&[0x82, 0x00, 0xc0]).0, 1, "legacy receipts have no type");
    let empty = ErrorKind::Truncated { needed: 1, available: 0 };
    assert_eq!(error::<Receipt<'_>>(&[0x80]), (1, empty));
    let text = Receipt::decode(&[0x05]).unwrap_err().to_string();
    assert_eq!(text, "RLP at byte 0: expected a known type, found 0x05");
}

/// A stored receipt of `fields` fields with one log, in the old form or not.
fn stored(fields: usize, old_log: bool) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(|out| {
        out.fixed(&[9; 32]);
        out.u64(21_000);
        if fields == 7 {
            out.fixed(&[0; 256]);
        }
        if fields >= 6 {
            out.fixed(&[6; 32]);
            out.fixed(&[8; 20]);
        }
        out.list(|out| {
            out.list(|out| {
                out.fixed(&[1; 20]);
                out.list(|out| out.fixed(&[2; 32]));
                out.bytes(b"data");
                if old_log {
                    out.u64(7);
                    out.fixed(&[4; 32]);
                    out.u64(0);
                    out.fixed(&[5; 32]);
                    out.u64(1);
                }
            });
        });
        if fields >= 6 {
            out.u64(21_000);
        }
    });
    out.into_bytes()
}

#[test]
fn old_stored_forms_are_read_and_written_in_the_present_one() {
    let present = stored(3, false);
    for fields in [3, 6, 7] {
        for old_log in [false, true] {
            let bytes = stored(fields, old_log);
            let receipt = StoredReceipt::decode(&bytes).unwrap();
            assert_eq!(matches!(receipt.logs, StoredLogs::Old(_)), old_log);
            assert_eq!(encoding(&receipt), present);
            ends_exactly::<StoredReceipt<'_>>(&bytes, &mut vec![]);
        }
    }
    for fields in [4, 5, 8] {
        let mut out = OnePass::default();
        out.list(|out| (0..fields).for_each(|_| out.list(|_| ())));
        assert!(StoredReceipt::decode(&out.into_bytes()).is_err());
    }
}

#[test]
fn receipts_that_geth_stored_come_back_byte_for_byte() {
    let bloom = [3; 256];
    let (mut lists, mut receipts, mut logs) = (0, 0, 0);
    for line in STORED.lines() {
        let hex = line.rsplit(' ').next().unwrap().as_bytes();
        let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
        let bytes: Vec<u8> =
            hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        let list = List::<StoredReceipt<'_>>::decode(&bytes).unwrap();
        let stored: Vec<_> = list.iter().collect();
        assert_eq!(encoding(&stored), bytes, "the present form");
        for (i, stored) in stored.iter().enumerate() {
            let StoredLogs::Current(of_receipt) = &stored.logs else { panic!("an old form") };
            logs += of_receipt.len();
            comes_back(&Receipt {
                kind: TransactionType::ALL[i % 5],
                outcome: stored.outcome,
                cumulative_gas: stored.cumulative_gas,
                bloom: &bloom,
                logs: of_receipt.clone(),
            });
        }
        lists += 1;
        receipts += stored.len();
    }
    println!("{lists} lists that geth stored: {receipts} receipts, {logs} logs");
    assert!(lists == 9 && receipts > 20 && logs > 10);
}
