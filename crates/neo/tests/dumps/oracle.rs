//! neo-go's results for a dump: storage changes and state roots, block by block.

use super::Dump;
use blockmill_neo::state::{Change, StorageKey, Value};
use blockmill_neo::types::UInt256;
use flate2::read::GzDecoder;
use std::io::{BufRead, BufReader};

/// The state root after each block.
pub fn roots(dump: Dump) -> Vec<UInt256> {
    let text = blockmill_testkit::read(format!("neo/oracle/{}.roots.txt", dump.name));
    let lines = std::str::from_utf8(&text).unwrap().lines();
    let root = |(height, line): (usize, &str)| {
        let (number, root) = line.split_once(' ').unwrap();
        assert_eq!(number, height.to_string());
        root.parse().unwrap()
    };
    lines.enumerate().map(root).collect()
}

/// The storage changes of each block, in key order.
pub fn changes(dump: Dump) -> Vec<Vec<Change>> {
    let file = blockmill_testkit::read(format!("neo/oracle/{}.storage.jsonl.gz", dump.name));
    let lines = BufReader::new(GzDecoder::new(&file[..])).lines();
    lines.enumerate().map(|(height, line)| block(height, &line.unwrap())).collect()
}

fn block(height: usize, line: &str) -> Vec<Change> {
    let block: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(block["Index"], height);
    let key = |digits: &serde_json::Value| {
        StorageKey::from_slice(&blockmill_testkit::hex::decode(digits.as_str().unwrap())).unwrap()
    };
    let put = block["Put"].as_array().into_iter().flatten().map(|entry| {
        let value: Value = blockmill_testkit::hex::decode(entry["V"].as_str().unwrap()).into();
        (key(&entry["K"]), Some(value))
    });
    let deleted = block["Del"].as_array().into_iter().flatten();
    let mut changes: Vec<Change> = put.chain(deleted.map(|digits| (key(digits), None))).collect();
    changes.sort_by_key(|change| change.0);
    changes
}
