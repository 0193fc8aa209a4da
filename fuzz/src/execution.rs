//! JSON that is executed: stateless witnesses and state tests.

use blockmill_ethereum::commit::executed_store::BlockChanges;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::suite::{self, Verdict};
use blockmill_ethereum::transaction_rules::{TransactionRules, verify_transaction};
use blockmill_ethereum::witness::Witness;
use blockmill_ethereum::{Address, U256};
use blockmill_rlp::ethereum::{Transaction, TransactionType};
use std::sync::OnceLock;

/// Writes to storage what it was called with and the hash of 32 zeros, writes a log, makes an empty
/// contract, stores the hash of the block before, and destroys itself.
pub(crate) const CODE: &str = concat!(
    "6000356000556020600020600155",
    "602a60006000a1600060006000f050",
    "60014303406002",
    "5533ff"
);

/// Wei for a unit of gas that the transaction of the witness pays.
pub(crate) const GAS_PRICE: u64 = 2_000_000_000;

/// The number that transactions sign.
pub(crate) const CHAIN_ID: u64 = 5;

/// The address of [`CODE`].
pub(crate) const CONTRACT: Address = [0xc0; 20];

/// A legacy transaction that calls the contract, with the first signature from `r` = 1 on that some
/// key made, and its sender.
pub(crate) fn call(gas_price: u64) -> (Transaction<'static>, Address) {
    let mut tx = Transaction {
        max_fee: U256::from(gas_price),
        gas_limit: 300_000,
        to: Some(&CONTRACT),
        input: &[7; 32],
        v: U256::from(27),
        s: U256::ONE,
        ..Transaction::new(TransactionType::Legacy)
    };
    for r in 1u64.. {
        tx.r = U256::from(r);
        let fork = blockmill_ethereum::params::Fork::Shanghai;
        let rules = TransactionRules::new(fork, U256::from(CHAIN_ID));
        let sender = verify_transaction(&tx, &rules);
        if let Ok(sender) = sender {
            return (tx, sender);
        }
    }
    unreachable!("every second number is that of a point")
}

/// The chain of the witnesses: under proof of stake, the sender of the witness has some ether.
pub(crate) fn chain() -> &'static ChainSpec {
    static CHAIN: OnceLock<ChainSpec> = OnceLock::new();
    CHAIN.get_or_init(|| {
        let (_, sender) = call(GAS_PRICE);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (sender, contract) = (hex(&sender), hex(&CONTRACT));
        let forks = [
            "homestead",
            "eip150",
            "eip155",
            "eip158",
            "byzantium",
            "constantinople",
            "petersburg",
            "istanbul",
            "berlin",
            "london",
        ];
        let forks: String = forks.iter().map(|fork| format!("\"{fork}Block\": 0, ")).collect();
        let text = format!(
            r#"{{"config": {{"chainId": {CHAIN_ID}, {forks}"terminalTotalDifficulty": 0,
              "terminalTotalDifficultyPassed": true, "shanghaiTime": 0}},
              "difficulty": "0x0", "gasLimit": "0x1c9c380",
              "alloc": {{"{sender}": {{"balance": "0xde0b6b3a7640000"}},
                "{contract}": {{"balance": "0x1", "code": "0x{CODE}"}}}}}}"#
        );
        ChainSpec::from_genesis_json(&text).expect("a chain")
    })
}

/// A witness that executes to its end gives the same result again; any other one has an error with
/// a text.
pub fn witness(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let execute = || Witness::read(text).and_then(|witness| witness.execute(chain()));
    match execute() {
        Ok(done) => {
            assert_eq!(execute().expect("the same"), done);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// A record of a state's log that is accepted is the same bytes when it is written again.
pub fn state_log(data: &[u8]) -> bool {
    match BlockChanges::decode(data) {
        Ok(block) => {
            let mut again = vec![];
            block.encode(block.has_old, &mut again);
            assert_eq!(again, data);
            true
        }
        Err(error) => {
            assert!(error.offset <= data.len(), "{error}");
            false
        }
    }
}

/// A state test has one verdict for each case, and the same again. Accepted are tests of which
/// every case passes.
pub fn state_test(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let cases = match suite::run(text) {
        Ok(cases) => cases,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let again = suite::run(text).expect("the same");
    assert!(cases.iter().map(|case| &case.verdict).eq(again.iter().map(|case| &case.verdict)));
    !cases.is_empty() && cases.iter().all(|case| case.verdict == Verdict::Passed)
}
