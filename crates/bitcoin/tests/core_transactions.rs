//! Bitcoin Core's vectors of transactions, as far as no script has to run.

use crate::real_blocks;
use blockmill_bitcoin::body::transactions::{self, Repeats};
use blockmill_bitcoin::types::Block;
use serde_json::Value;

/// Each transaction of a file with its flags, as the only one of a block.
fn for_each(name: &str, mut each: impl FnMut(&Block, &str)) -> usize {
    let folder = blockmill_testkit::path_of("core_source");
    let text = std::fs::read_to_string(folder.join("test/data").join(name)).unwrap();
    let tests: Vec<Vec<Value>> = serde_json::from_str(&text).unwrap();
    // comments are lists of one string
    let tests: Vec<_> = tests.iter().filter(|test| test.len() == 3).collect();
    for test in &tests {
        let mut raw = vec![0; 80];
        raw.push(1);
        raw.extend(blockmill_testkit::hex::decode(test[1].as_str().unwrap()));
        each(&real_blocks::decoded(&raw), test[2].as_str().unwrap());
    }
    tests.len()
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn valid_transactions_keep_the_rules() {
    let count = for_each("tx_valid.json", |block, _| {
        transactions::check(block, 0, &mut Repeats::default()).unwrap();
    });
    assert!(count > 100, "{count}");
}

#[blockmill_testkit::needs(core_source)]
#[test]
fn transactions_marked_bad_break_a_rule() {
    let mut bad = 0;
    let count = for_each("tx_invalid.json", |block, flags| {
        let result = transactions::check(block, 0, &mut Repeats::default());
        let marked = flags.split(',').any(|flag| flag == "BADTX");
        bad += usize::from(marked);
        // the others fail by a script or a signature
        assert_eq!(result.is_err(), marked, "{flags}: {result:?}");
    });
    assert!(count > 80 && bad > 8, "{count}, {bad} of them bad");
}
