//! Single real blocks with the state that they need.

use blockmill_ethereum::execute::ExecutionError;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::state::StateError;
use blockmill_ethereum::witness::{Witness, WitnessError};
use serde_json::Value;

/// Every file: its name, and its text as JSON.
pub fn files() -> Vec<(String, Value)> {
    let folder = std::fs::read_dir(blockmill_testkit::fixture("ethereum/witness")).unwrap();
    let files = folder.map(|entry| {
        let entry = entry.unwrap();
        let json = serde_json::from_slice(&blockmill_testkit::read(entry.path())).unwrap();
        (entry.file_name().to_string_lossy().into_owned(), json)
    });
    files.collect()
}

pub fn spec(chain_id: u64) -> ChainSpec {
    let name = if chain_id == 1 { "mainnet" } else { "hoodi" };
    let spec = ChainSpec::by_name(name).unwrap();
    assert_eq!(spec.chain_id, blockmill_ethereum::U256::from(chain_id));
    spec
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_witness_gives_the_state_root_of_its_header() {
    let files = files();
    assert_eq!(files.len(), 22);
    let mut failures = vec![];
    for (name, json) in &files {
        let witness = Witness::read(&json.to_string()).unwrap();
        let spec = spec(witness.chain_id.unwrap());
        match witness.execute(&spec) {
            Ok(done) => {
                assert_eq!(Some(done.number), json["number"].as_u64(), "{name}");
                let hash = format!("0x{}", blockmill_testkit::hex::encode(done.hash));
                assert_eq!(Some(&hash[..]), json["hash"].as_str(), "{name}");
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_node_that_is_missing_is_named() {
    let (name, json) = files().into_iter().find(|(name, _)| name.contains("46147")).unwrap();
    let nodes = json["witness"]["state"].as_array().unwrap().len();
    let (mut named, mut unused) = (0, 0);
    for at in 0..nodes {
        let mut less = json.clone();
        let node = less["witness"]["state"].as_array_mut().unwrap().remove(at);
        let hash =
            blockmill_hashes::keccak256(&blockmill_testkit::hex::decode(node.as_str().unwrap()));
        let witness = Witness::read(&less.to_string()).unwrap();
        match witness.execute(&spec(1)) {
            Err(WitnessError::Execution(ExecutionError::State(StateError::MissingNode {
                hash: missing,
                ..
            }))) => {
                assert_eq!(missing, hash, "{name}");
                named += 1;
            }
            Ok(_) => unused += 1,
            Err(error) => panic!("{name} without node {at}: {error}"),
        }
    }
    assert!(named > 0 && unused < named, "{named} of {nodes} nodes are needed");
}
