//! A witness and a state test, with roots that the program itself finds: it says what it expected
//! and found, and the text is changed until nothing is left to say.

use crate::execution::{CHAIN_ID, CODE, CONTRACT, GAS_PRICE, call, chain};
use blockmill_ethereum::commit::executed_store::{AccountRecord, BlockChanges, SlotRecord};
use blockmill_ethereum::execute::{Code, ExecutionError};
use blockmill_ethereum::header::Header;
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::snapshot::{self, Head};
use blockmill_ethereum::state::{EMPTY_CODE, State};
use blockmill_ethereum::suite::{self, Verdict};
use blockmill_ethereum::witness::{Witness, WitnessError};
use blockmill_ethereum::{Hash, U256};
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::{Account, Withdrawal};
use blockmill_rlp::{OnePass, Write};
use blockmill_trie::codec::Ethereum;
use blockmill_trie::update::{Changes, Forest, Update};

/// Networks of the state test.
const NETWORKS: [&str; 4] = ["Frontier", "Istanbul", "London", "Cancun"];

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches("0x");
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn hash(text: &str) -> Hash {
    unhex(text).try_into().expect("32 bytes")
}

/// Block 1 of [`chain`]: a call, and a withdrawal to nobody in particular.
pub(super) fn witness() -> Vec<u8> {
    let genesis = &chain().genesis;
    let mut header = Header {
        parent_hash: genesis.hash,
        number: 1,
        gas_limit: genesis.header.gas_limit,
        timestamp: genesis.header.timestamp + 12,
        base_fee: Some(U256::ZERO),
        withdrawals_root: Some([0; 32]),
        ..Header::default()
    };
    loop {
        let text = witness_of(&header);
        let Err(error) = Witness::read(&text).and_then(|witness| witness.execute(chain())) else {
            return text.into_bytes();
        };
        let WitnessError::Execution(ExecutionError::Rule(violation)) = &error else {
            panic!("{error}");
        };
        let found = &*violation.found;
        match violation.rule {
            Rule::BaseFee => header.base_fee = Some(violation.expected.parse().expect("a number")),
            Rule::TransactionsRoot => header.transactions_root = hash(found),
            Rule::BodyWithdrawalsRoot => header.withdrawals_root = Some(hash(found)),
            Rule::ReceiptsGas => header.gas_used = found.parse().expect("a number"),
            Rule::LogsBloom => header.logs_bloom.copy_from_slice(&unhex(found)),
            Rule::ReceiptsRoot => header.receipts_root = hash(found),
            Rule::StateRoot => header.state_root = hash(found),
            _ => panic!("{error}"),
        }
    }
}

fn witness_of(header: &Header) -> String {
    let (tx, _) = call(GAS_PRICE);
    let withdrawal = Withdrawal { index: 0, validator: 0, address: &[0x11; 20], amount: 7 };
    let mut block = OnePass::default();
    block.list(|block| {
        block.raw(&header.encode());
        block.list(|list| list.raw(&tx.encode()));
        block.list(|_| ());
        block.list(|list| list.raw(&withdrawal.encode()));
    });
    let list = |items: Vec<Vec<u8>>| items.iter().map(|item| hex(item)).collect::<Vec<_>>();
    let (nodes, codes) = (list(nodes()), [format!("0x{CODE}")]);
    format!(
        r#"{{"chainId":{CHAIN_ID},"block":"{}","witness":{{"state":{nodes:?},"codes":{codes:?},
        "headers":["{}"]}}}}"#,
        hex(&block.into_bytes()),
        hex(&chain().genesis.raw)
    )
}

/// All nodes of the state of the genesis block.
fn nodes() -> Vec<Vec<u8>> {
    let genesis = &chain().genesis;
    let accounts = genesis.accounts().expect("accounts");
    let leaf = |account: &blockmill_ethereum::params::genesis::GenesisAccount| {
        let code_hash = blockmill_hashes::keccak256(&account.code);
        let storage_root = &blockmill_hashes::keccak256(&[0x80]);
        let (nonce, balance) = (account.nonce, account.balance);
        let value = Account { nonce, balance, storage_root, code_hash: &code_hash }.encode();
        (blockmill_hashes::keccak256(&account.address), value)
    };
    let leaves: Vec<_> = accounts.iter().map(leaf).collect();
    let mut forest = Forest::new(Ethereum::new());
    let trie = forest.create().expect("a trie");
    let updates: Vec<_> =
        leaves.iter().map(|(key, value)| Update { trie, key, value: Some(value) }).collect();
    let changes = Changes { wiped: &[], updates: &updates };
    forest.update(&changes).expect("all nodes are known");
    assert_eq!(forest.root(trie), Ok(genesis.header.state_root));
    let mut nodes: Vec<_> = updates
        .iter()
        .flat_map(|update| forest.prove(trie, update.key).expect("all nodes are known"))
        .collect();
    nodes.sort();
    nodes.dedup();
    nodes
}

/// A block's changes, with old values and without.
pub(super) fn log_records() -> Vec<Vec<u8>> {
    let account = |nonce, code_hash| {
        Some(blockmill_ethereum::state::Account {
            nonce,
            balance: U256::from(1_000_000_007u64),
            code_hash,
        })
    };
    let slot = |slot, before, after| {
        let [slot, before, after] = [slot, before, after].map(U256::from);
        SlotRecord { slot, before, after }
    };
    let slots = vec![slot(0u64, 0u64, 7u64), slot(300, 1 << 40, 0)];
    let block = BlockChanges {
        number: 77,
        has_old: true,
        accounts: vec![
            AccountRecord {
                address: [1; 20],
                before: None,
                after: account(0, EMPTY_CODE),
                slots,
                cleared: None,
            },
            AccountRecord {
                address: [2; 20],
                before: account(200, [9; 32]),
                after: None,
                slots: vec![],
                cleared: Some(vec![([3; 32], U256::from(9))]),
            },
        ],
        codes: vec![vec![0x60; 3], vec![0xfe]],
    };
    [true, false]
        .map(|old| {
            let mut out = vec![];
            block.encode(old, &mut out);
            out
        })
        .to_vec()
}

/// One call under several networks.
pub(super) fn state_test() -> Vec<u8> {
    let mut results = NETWORKS.map(|_| [hex(&[0; 32]), hex(&[0; 32])]);
    loop {
        let text = state_test_of(&results);
        let cases = suite::run(&text).expect("a state test");
        let mut is_right = true;
        for case in cases {
            let Verdict::Failed { expected, found } = case.verdict else { continue };
            is_right = false;
            let at = NETWORKS.iter().position(|name| *name == case.network).expect("a network");
            let which = match expected.split_once(" 0x").map(|(what, _)| what) {
                Some("state root") => 0,
                Some("hash of logs") => 1,
                _ => panic!("{}: expected {expected}, found {found}", case.network),
            };
            results[at][which] = found;
        }
        if is_right {
            return text.into_bytes();
        }
    }
}

fn state_test_of(results: &[[String; 2]; 4]) -> String {
    let (tx, sender) = call(0);
    let raw = hex(&tx.encode());
    let posts: Vec<_> = NETWORKS
        .iter()
        .zip(results)
        .map(|(network, [root, logs])| {
            format!(
                r#""{network}":[{{"hash":"{root}","logs":"{logs}","txbytes":"{raw}",
                "indexes":{{"data":0,"gas":0,"value":0}}}}]"#
            )
        })
        .collect();
    let account = |code: &str| {
        let storage = r#"{"0x02":"0x01"}"#;
        format!(r#"{{"balance":"0x10","nonce":"0x0","code":"0x{code}","storage":{storage}}}"#)
    };
    format!(
        r#"{{"call":{{"env":{{"currentCoinbase":"0x{}","currentDifficulty":"0x20000",
        "currentGasLimit":"0x1c9c380","currentNumber":"0x1","currentTimestamp":"0x3e8",
        "currentBaseFee":"0x0","currentRandom":"0x20000","currentExcessBlobGas":"0x0"}},
        "pre":{{"{}":{},"{}":{}}},"post":{{{}}}}}}}"#,
        "22".repeat(20),
        hex(&CONTRACT),
        account(CODE),
        hex(&sender),
        account("").replace(r#""0x02":"0x01""#, ""),
        posts.join(",")
    )
}

/// Snapshots of no accounts, of few, and of one with more slots than go into a frame.
pub(super) fn snapshots() -> Vec<Vec<u8>> {
    [(0u64, 0u64), (5, 3), (2, 4_100)].map(|(accounts, slots)| snapshot(accounts, slots)).to_vec()
}

fn snapshot(accounts: u64, slots: u64) -> Vec<u8> {
    let mut state = State::default();
    for account in 0..accounts {
        let code = Code::new(vec![account as u8 + 1; 3]);
        let (nonce, balance, code_hash) = (account, U256::from(account << 33), code.hash());
        let account = blockmill_ethereum::state::Account { nonce, balance, code_hash };
        state.restore_code(code);
        let id = state.restore_account(&[nonce as u8; 20], Some(account)).expect("few accounts");
        for slot in 0..slots / (nonce + 1) {
            let word = U256::from_be_bytes(blockmill_hashes::keccak256(&slot.to_be_bytes()));
            state.restore_slot(id, word, word >> (slot % 250) as usize);
        }
    }
    let mut head =
        Head { chain_id: 1, genesis: [1; 32], number: 2, hash: [2; 32], state_root: [0; 32] };
    let write = |head: &Head, out: &mut Vec<u8>| {
        let written = snapshot::write(&state, head, out, &blockmill_pipeline::Cancel::default());
        written.expect("memory").expect("nobody stops it").state_root
    };
    head.state_root = write(&head, &mut vec![]);
    let mut out = vec![];
    write(&head, &mut out);
    out
}
