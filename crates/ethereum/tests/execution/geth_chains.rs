//! Small chains that go-ethereum made and accepts, with rules that no public chain has:
//! `tests/geth-chains`.

use super::chains::execute;
use super::imports::{Place, options, run};
use crate::source;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::settings::Settings;
use std::path::PathBuf;

/// The chain of a folder, and its export.
fn chain(name: &str) -> (ChainSpec, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/geth-chains").join(name);
    let genesis = std::fs::read_to_string(folder.join("genesis.json")).unwrap();
    (ChainSpec::from_genesis_json(&genesis).unwrap(), folder.join("chain.rlp"))
}

/// Executes every block of a chain, with the state in every place.
fn accept(name: &str, blocks: u64) {
    let (spec, path) = chain(name);
    let made = source::export(name, &std::fs::read(&path).unwrap());
    let counts = execute(&spec, &made);
    assert_eq!(counts.values().sum::<usize>() as u64, blocks, "{name}");
    for place in Place::all() {
        for speculate in ["speculate=off", "speculate=all"] {
            let options = options(spec.clone(), place.with(&[speculate]));
            let (done, error) = run(path.clone(), &options, &mut Sink::Discard);
            assert_eq!((done.blocks, error), (blocks + 1, None), "{name} {place:?} {speculate}");
        }
    }
}

#[test]
fn accounts_on_the_list_of_the_dao_exist_after_the_fork_until_they_are_cleared() {
    accept("dao", 8);
}

#[test]
fn accounts_on_the_list_of_the_dao_are_cleared_at_once_under_spurious_dragon() {
    accept("dao-at-spurious-dragon", 8);
}

#[test]
fn fees_of_more_than_64_and_more_than_128_bits_are_executed() {
    accept("fees", 4);
}

#[test]
fn a_chain_id_of_more_than_64_bits_is_signed_and_executed() {
    accept("chain-id", 3);
}

#[test]
fn requests_come_from_the_deposit_contract_of_the_chain_and_from_no_other() {
    accept("deposits", 4);
    let (mut spec, path) = chain("deposits");
    spec.deposit_contract = ChainSpec::by_name("mainnet").unwrap().deposit_contract;
    let (_, error) = run(path, &options(spec, Settings::default()), &mut Sink::Discard);
    // block 1 has two deposits in the chain's contract and one in mainnet's
    let error = error.unwrap();
    assert!(error.contains("block 1") && error.contains("EIP-7685"), "{error}");
}
