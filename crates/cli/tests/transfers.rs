//! Generated chains of transfers.

use crate::program::{Scratch, blockmill, run, succeed, succeed_json};
use std::fs;

#[test]
fn a_generated_chain_of_transfers_verifies_and_says_who_recovered_its_senders() {
    let scratch = Scratch::new("transfers");
    let chain = scratch.path("chain");
    let words = "generate ethereum --transfers 3000 --seed 2 --out";
    let generated = succeed(blockmill(words).arg(&chain));
    assert!(generated.contains("blocks 0 to 3 with 3,000 transfers"), "{generated}");
    let file = chain.join("chain.rlp");
    let record = succeed_json(blockmill("verify --seal off --level bodies").arg(&file));
    assert_eq!((&record["level"], &record["result"]["tip_number"]), (&"bodies".into(), &3.into()));
    let notes = record["details"].to_string();
    assert!(notes.contains("3,000 senders recovered by signatures="), "{notes}");
    assert!(notes.contains("of a chunk together"), "{notes}");

    let record = scratch.path("record.json");
    let with = "verify --seal off --level bodies --with signatures=scalar --with \
                sender-batches=block --record";
    succeed(blockmill(with).arg(&record).arg(&file));
    let record = fs::read_to_string(record).expect("a record");
    assert!(record.contains("signatures=scalar, up to 256 of a block together"), "{record}");
}

#[test]
fn the_flags_of_transfers_exclude_those_of_headers() {
    let scratch = Scratch::new("transfer-flags");
    for flags in ["--headers 5", "--format rlp"] {
        let words = format!("generate ethereum --transfers 5 {flags} --out");
        let ended = run(blockmill(&words).arg(scratch.path("never")));
        assert_ne!(ended.code, Some(0), "{flags}");
    }
    let ended = run(blockmill("generate ethereum --block-transfers 5 --out").arg("never"));
    assert_ne!(ended.code, Some(0));
}
