//! Every way of verifying signatures gives the answers of libsecp256k1, of AWS-LC for P-256, on
//! random signatures and on generated ones: the short form of `examples/signatures_oracle.rs`.

mod generated;

use blockmill_testkit::rounds;
use generated::Generator;
use generated::oracle::{Operation, Share, Tally, part, ways};
use std::thread;

/// Parts of each operation, with a seed each.
const PARTS: u64 = 2;
/// Cases of each part.
const CASES: usize = 4_000;

fn all_agree(operation: Operation) {
    let ways = ways(false);
    if ways.is_empty() {
        println!("no lanes on this CPU: the libraries alone, against what the makers know");
    }
    let share = Share { random: rounds(CASES), structured: rounds(CASES) };
    let do_part = |seed| {
        let (mut cases, mut tally) = (Generator::new(0), Tally::default());
        match part(operation, &mut cases, &ways, seed, share, &mut tally) {
            Ok(()) => tally,
            Err(difference) => panic!("{difference}"),
        }
    };
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let parts: Vec<_> = (0..PARTS).map(|seed| scope.spawn(move || do_part(seed))).collect();
        parts.into_iter().for_each(|part| tally.add(part.join().unwrap()));
    });
    print!("{tally}");
    let cases: u64 = tally.kinds.values().flatten().sum();
    assert_eq!(cases, PARTS * (share.random + share.structured) as u64);
    assert!(tally.kinds.values().all(|counts| counts.iter().sum::<u64>() > rounds(100) as u64));
}

#[test]
fn ecdsa() {
    all_agree(Operation::Ecdsa);
}

#[test]
fn schnorr() {
    all_agree(Operation::Schnorr);
}

#[test]
fn recovery() {
    all_agree(Operation::Recovery);
}

#[test]
fn tweaks() {
    all_agree(Operation::Tweak);
}

#[test]
fn p256() {
    all_agree(Operation::P256);
}
