//! What blocks changed, from tables: applied to what the chain begins with, it gives the state root
//! of every block, by the naive trie.

mod exports;

use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::params::genesis::{GenesisAccount, state_root};
use blockmill_ethereum::{Address, Hash, Level, U256};
use blockmill_export::ethereum::tables;
use blockmill_export::schema::Table;
use blockmill_export::{Cells, TableReader};
use exports::{Asked, export, files_of};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

const DIFFS: [&str; 5] = ["blocks", "balance_diffs", "nonce_diffs", "code_diffs", "storage_diffs"];

/// Calls `each` with every row of a table, in order.
fn rows(folder: &Path, table: &'static Table, mut each: impl FnMut(&Cells, usize)) {
    for file in files_of(folder, table.name) {
        for cells in TableReader::open(&file, table).unwrap() {
            let cells = cells.unwrap();
            (0..cells.rows()).for_each(|row| each(&cells, row));
        }
    }
}

/// One change of one account, and what its table says was there before.
enum Change {
    Balance(Option<u128>, Option<u128>),
    Nonce(u64, u64),
    Code(Hash, Hash, Option<Vec<u8>>),
    Slot(Hash, Hash, Hash),
}

/// The changes of each block, in the order of tables and rows.
fn changes(folder: &Path) -> BTreeMap<u64, Vec<(Address, Change)>> {
    let mut all: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    let mut add = |table, change: &dyn Fn(&Cells, usize) -> Change| {
        rows(folder, table, |cells, row| {
            let block: u64 = cells.int("block_number", row).unwrap();
            let address: Address = cells.fixed("address", row).unwrap();
            all.entry(block).or_default().push((address, change(cells, row)));
        });
    };
    add(&tables::BALANCE_DIFFS, &|cells, row| {
        let [from, to] = ["from_value", "to_value"]
            .map(|name| cells.maybe_wei(name, row).unwrap().map(|wei| wei.to::<u128>()));
        Change::Balance(from, to)
    });
    add(&tables::NONCE_DIFFS, &|cells, row| {
        let [from, to] = ["from_value", "to_value"].map(|name| cells.int(name, row).unwrap());
        Change::Nonce(from, to)
    });
    add(&tables::CODE_DIFFS, &|cells, row| {
        let hash = |name| cells.fixed(name, row).unwrap();
        let code = cells.maybe_bytes("to_code", row).unwrap();
        Change::Code(hash("from_code_hash"), hash("to_code_hash"), code.map(|code| code.to_vec()))
    });
    add(&tables::STORAGE_DIFFS, &|cells, row| {
        let word = |name| cells.fixed(name, row).unwrap();
        Change::Slot(word("slot"), word("from_value"), word("to_value"))
    });
    all
}

/// A state that is kept in the plainest way.
struct State {
    accounts: BTreeMap<Address, GenesisAccount>,
    codes: HashMap<Hash, Vec<u8>>,
}

impl State {
    fn new(accounts: &[GenesisAccount]) -> Self {
        let by_hash = |account: &GenesisAccount| {
            (blockmill_hashes::keccak256(&account.code), account.code.clone())
        };
        let mut codes: HashMap<_, _> = accounts.iter().map(by_hash).collect();
        codes.insert(blockmill_hashes::keccak256(&[]), vec![]);
        let by_address = |account: &GenesisAccount| (account.address, account.clone());
        Self { accounts: accounts.iter().map(by_address).collect(), codes }
    }

    /// Applies the changes of a block. Those of balances come first: they create accounts; those
    /// that one is gone by are applied last.
    fn apply(&mut self, changes: &[(Address, Change)]) {
        let mut gone = vec![];
        for (address, change) in changes {
            if let Change::Balance(from, to) = change {
                let before = self.accounts.get(address);
                let before = before.map(|account| u128::try_from(account.balance).unwrap());
                assert_eq!(before, *from);
                let account = self.accounts.entry(*address).or_insert(GenesisAccount {
                    address: *address,
                    balance: U256::ZERO,
                    nonce: 0,
                    code: vec![],
                    storage: vec![],
                });
                match to {
                    Some(to) => account.balance = U256::from(*to),
                    None => gone.push(*address),
                }
                continue;
            }
            let account = self.accounts.get_mut(address).expect("an account that is there");
            match change {
                Change::Balance(..) => {}
                Change::Nonce(from, to) => {
                    assert_eq!(account.nonce, *from);
                    account.nonce = *to;
                }
                Change::Code(from, to, code) => {
                    assert_eq!(blockmill_hashes::keccak256(&account.code), *from);
                    if let Some(code) = code {
                        assert_eq!(blockmill_hashes::keccak256(code), *to);
                        self.codes.insert(*to, code.clone());
                    }
                    account.code = self.codes[to].clone();
                }
                Change::Slot(slot, from, to) => {
                    let at = account.storage.iter().position(|(key, _)| key == slot);
                    assert_eq!(at.map_or([0; 32], |at| account.storage[at].1), *from);
                    at.map(|at| account.storage.swap_remove(at));
                    if *to != [0; 32] {
                        account.storage.push((*slot, *to));
                    }
                }
            }
        }
        for address in gone {
            let account = self.accounts.remove(&address).unwrap();
            let left = (account.nonce, account.code.len(), account.storage.len());
            assert_eq!(left, (0, 0, 0), "an account that is gone has nothing");
        }
    }

    fn root(&self) -> Hash {
        state_root(&self.accounts.values().cloned().collect::<Vec<_>>())
    }
}

/// Every block's root; how many rows of each table there were.
fn assert_roots(chain: &str) -> [usize; 4] {
    let path = blockmill_testkit::fixture(format!("ethereum/chains/{chain}/chain.rlp"));
    let genesis = fs::read_to_string(path.with_file_name("genesis.json")).unwrap();
    let spec = ChainSpec::from_genesis_json(&genesis).unwrap();
    let mut state = State::new(&spec.genesis.accounts().unwrap());
    let asked = Asked { level: Level::Execution, tables: &DIFFS, ..Asked::default() };
    let folder = export(&[path], &asked).unwrap();
    let changes = changes(folder.path());
    let mut count = [0; 4];
    let mut last = 0;
    rows(folder.path(), &tables::BLOCKS, |cells, row| {
        let number: u64 = cells.int("number", row).unwrap();
        let changes = changes.get(&number).map_or(&[][..], Vec::as_slice);
        for (_, change) in changes {
            count[match change {
                Change::Balance(..) => 0,
                Change::Nonce(..) => 1,
                Change::Code(..) => 2,
                Change::Slot(..) => 3,
            }] += 1;
        }
        state.apply(changes);
        assert_eq!(state.root(), cells.fixed("state_root", row).unwrap(), "block {number}");
        last = number;
    });
    assert!(last > 1 && changes.keys().all(|number| *number <= last));
    count
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_changes_of_all_forks_give_every_state_root() {
    let count = assert_roots("execution-apis");
    assert!(count.iter().all(|count| *count > 0), "{count:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_changes_of_a_chain_of_hive_give_every_state_root() {
    let count = assert_roots("hive-sync");
    assert!(count.iter().all(|count| *count > 0), "{count:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_that_were_not_executed_have_no_changes_to_show() {
    let path = blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp");
    let asked = Asked { tables: &["storage_diffs"], ..Asked::default() };
    let error = export(&[path], &asked).unwrap_err();
    let expected = "--tables storage_diffs: expected blocks with an execution (--level execution)";
    assert!(error.contains(expected), "{error}");
}
