//! Small chains that go-ethereum made and accepts, with rules that no public chain has:
//! `tests/geth-chains`.

use super::imports::{options, run};
use super::small_chains::{self, Change};
use blockmill_ethereum::U256;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::header::Header;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::SealMode;
use blockmill_ethereum::settings::Settings;
use std::path::PathBuf;

fn chain(name: &str) -> (ChainSpec, PathBuf) {
    small_chains::chain(&format!("geth-chains/{name}"))
}

fn accept(name: &str, blocks: u64) {
    small_chains::accept(&format!("geth-chains/{name}"), blocks);
}

fn refused(name: &str, block: usize, change: Change<'_>) -> String {
    small_chains::refused(&format!("geth-chains/{name}"), SealMode::Off, block, change)
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

#[test]
fn under_clique_the_signer_gets_the_fees_and_no_reward() {
    accept("clique", 10);
}

#[test]
fn under_a_fixed_difficulty_all_else_is_as_under_proof_of_work() {
    accept("fixed-difficulty", 6);
}

#[test]
fn headers_that_clique_forbids_are_refused() {
    let cases: [(usize, &str, Change<'_>); 10] = [
        (8, "vote of clique", &|header| header.beneficiary = [1; 20]),
        (8, "vote of clique", &|header| header.nonce = [0xff; 8]),
        (7, "vote of clique", &|header| header.nonce = [1; 8]),
        (8, "extra data of clique", &|header| header.extra_data.truncate(97)),
        (7, "extra data of clique", &|header| header.extra_data.truncate(32)),
        (7, "mix hash", &|header| header.mix_hash = [1; 32]),
        (7, "no ommers under clique", &|header| header.ommers_hash = [1; 32]),
        (7, "difficulty under clique", &|header| header.difficulty = U256::from(3)),
        (7, "period of clique", &|header| header.timestamp -= 1),
        (7, "signature of clique", &|header| header.extra_data[96] = 2),
    ];
    for (block, rule, change) in cases {
        let error = refused("clique", block, change);
        let both = error.contains(&format!("block {block}")) && error.contains(rule);
        assert!(both && error.contains("EIP-225"), "{rule}: {error}");
    }
    // the signature decides who gets the fees
    let error = refused("clique", 7, &|header| header.extra_data[0] ^= 1);
    assert!(error.contains("state root") || error.contains("signature"), "{error}");
}

#[test]
fn a_difficulty_other_than_the_fixed_one_is_refused() {
    for wrong in [99u64, 101, 131_072] {
        let change = move |header: &mut Header| header.difficulty = U256::from(wrong);
        let error = refused("fixed-difficulty", 4, &change);
        assert!(error.contains("block 4") && error.contains("100"), "{error}");
    }
}
