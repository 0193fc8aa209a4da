//! JSON: genesis files and run records.

use crate::input::folder;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::ChainSpec;
use blockmill_pipeline::record::RunRecord;
use std::fs;

/// A genesis.json that is accepted gives a header that decodes and has the hash that is stated.
pub fn genesis_json(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let spec = match ChainSpec::from_genesis_json(text) {
        Ok(spec) => spec,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let genesis = &spec.genesis;
    let header = HeaderView::decode(&genesis.raw).expect("our own encoding decodes");
    assert_eq!(header.hash(), genesis.hash);
    assert_eq!(header.to_owned(), genesis.header);
    let accounts = genesis.accounts().expect("accounts from JSON are not encoded");
    assert!(accounts.is_sorted_by(|a, b| a.address < b.address), "accounts ascend");
    let _ = spec.rules_of(&header);
    let _ = spec.rules_at(header.number, 0);
    true
}

/// A run record that is accepted is the same after it was written and read again.
pub fn run_record(data: &[u8]) -> bool {
    let folder = folder();
    let path = folder.path().join("run.json");
    fs::write(&path, data).expect("the folder takes files");
    let record = match RunRecord::read(&path) {
        Ok(record) => record,
        Err(error) => {
            assert!(error.to_string().contains("run.json"), "{error}");
            return false;
        }
    };
    record.write(&path).expect("what was read can be written");
    assert_eq!(RunRecord::read(&path).expect("what was written can be read"), record);
    true
}
