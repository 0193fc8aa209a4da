//! Block access lists of real chains: read, encoded again, held to their rules, compared, mutated.
//!
//! go-ethereum made the lists, the wrong ones, and what it said of each; the JSON form next to the
//! encoded one is its own.

use blockmill_archive::{Archive, Chunk, ChunkLimit, Packed, Want};
use blockmill_ethereum::U256;
use blockmill_ethereum::access_list::{
    AccountChanges, BalanceChange, BlockAccessList, CodeChange, EntryKind, ListLimits,
    MAX_CODE_SIZE, NonceChange, SlotChanges, StorageChange, check, entries, first_difference,
};
use blockmill_ethereum::body::{BodyView, verify_access_list_hash};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::rule::Rule;
use blockmill_rlp::ethereum::AccountChanges as View;
use blockmill_rlp::{Decode, Encode, Encoder, List, Reader};
use blockmill_testkit::hex;
use serde_json::Value;
use std::collections::BTreeMap;

mod faults;
mod mutated;

const CHAINS: [&str; 2] = ["amsterdam-250", "transition-240"];

/// A block with its list.
struct Listed {
    header: Vec<u8>,
    transactions: usize,
    list: Vec<u8>,
}

impl Listed {
    fn header(&self) -> HeaderView<'_> {
        HeaderView::decode(&self.header).unwrap()
    }

    fn limits(&self) -> ListLimits {
        let gas_limit = self.header().gas_limit;
        ListLimits { gas_limit, transactions: self.transactions, code: MAX_CODE_SIZE }
    }

    /// What `verify` at level bodies does.
    fn accepts(&self, list: &[u8]) -> bool {
        verify_access_list_hash(&self.header(), list).is_ok() && check(list, &self.limits()).is_ok()
    }
}

fn path(chain: &str, name: &str) -> String {
    format!("ethereum/bal-chains/{chain}/{name}")
}

/// The blocks of a chain that have a list.
fn listed(chain: &str) -> Vec<Listed> {
    let file = blockmill_testkit::fixture(path(chain, "chain-with-bal.rlp"));
    let want = Want { bodies: true, receipts: false };
    let mut reader =
        Archive::open(&[file]).unwrap().reader(want, ChunkLimit::default(), 0..=u64::MAX).unwrap();
    let (mut packed, mut chunk, mut blocks) = (Packed::new(), Chunk::new(), vec![]);
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        for i in (0..chunk.blocks()).filter(|i| !chunk.access_list(*i).is_empty()) {
            let body = BodyView::decode(chunk.bodies.get(i)).unwrap();
            blocks.push(Listed {
                header: chunk.headers.get(i).to_vec(),
                transactions: body.transaction_count(),
                list: chunk.access_list(i).to_vec(),
            });
        }
    }
    blocks
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_list_of_real_chains_is_valid_and_is_encoded_to_the_same_bytes() {
    let (mut lists, mut kinds, mut encoder) = (0, BTreeMap::new(), Encoder::default());
    for block in CHAINS.iter().flat_map(|chain| listed(chain)) {
        check(&block.list, &block.limits()).unwrap();
        verify_access_list_hash(&block.header(), &block.list).unwrap();
        let owned = BlockAccessList::decode(&block.list).unwrap();
        let view = List::<View<'_>>::decode(&block.list).unwrap();
        assert!(owned.encode() == block.list && view.encode() == block.list);
        assert!(owned.encode_in_one_pass() == block.list);
        assert!(encoder.encode(&owned) == block.list);
        assert_eq!(owned.hash(), *block.header().block_access_list_hash.unwrap());
        assert_eq!(first_difference(&block.list, &block.list), Ok(None));
        assert!(entries(&view).is_sorted_by(|a, b| a.key < b.key));
        for entry in entries(&view) {
            *kinds.entry(entry.key.kind).or_insert(0) += 1;
        }
        lists += 1;
    }
    // 249 blocks after genesis, and those of the other chain from the fork on
    assert_eq!(lists, 249 + 120, "{kinds:?}");
    assert!(kinds.len() == 6 && kinds.values().all(|count| *count > 20), "{kinds:?}");
}

/// The list of a block test in go-ethereum's JSON form.
fn of_json(value: &Value) -> BlockAccessList {
    let items = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_str().unwrap().parse::<U256>().unwrap();
    let index = |value: &Value| number(&value["blockAccessIndex"]).to();
    let bytes = |value: &Value| hex::decode(value.as_str().unwrap());
    let account = |value: &Value| AccountChanges {
        address: bytes(&value["address"]).try_into().unwrap(),
        storage_changes: items(value, "storageChanges")
            .iter()
            .map(|slot| SlotChanges {
                slot: number(&slot["slot"]),
                changes: items(slot, "slotChanges")
                    .iter()
                    .map(|it| StorageChange { index: index(it), value: number(&it["postValue"]) })
                    .collect(),
            })
            .collect(),
        storage_reads: items(value, "storageReads").iter().map(number).collect(),
        balance_changes: items(value, "balanceChanges")
            .iter()
            .map(|it| BalanceChange { index: index(it), balance: number(&it["postBalance"]) })
            .collect(),
        nonce_changes: items(value, "nonceChanges")
            .iter()
            .map(|it| NonceChange { index: index(it), nonce: number(&it["postNonce"]).to() })
            .collect(),
        code_changes: items(value, "codeChanges")
            .iter()
            .map(|it| CodeChange { index: index(it), code: bytes(&it["newCode"]) })
            .collect(),
    };
    BlockAccessList { accounts: value.as_array().unwrap().iter().map(account).collect() }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_lists_of_the_block_tests_are_those_of_their_json() {
    let archive = "ethereum/amsterdam/blockchain_tests.tar.zst";
    let mut lists = 0;
    for (name, text) in blockmill_testkit::tar_files(archive, |path| path.ends_with(".json")) {
        let tests: BTreeMap<String, Value> = serde_json::from_slice(&text).unwrap();
        let blocks = tests.values().flat_map(|test| test["blocks"].as_array().unwrap());
        for block in blocks.filter(|block| block.get("blockAccessListRlp").is_some()) {
            let rlp = block["blockAccessListRlp"].as_str().unwrap();
            let rlp = hex::decode(rlp);
            let list = of_json(&block["blockAccessList"]);
            assert!(list.encode() == rlp, "{name}");
            assert_eq!(BlockAccessList::decode(&rlp).as_ref(), Ok(&list), "{name}");
            lists += 1;
        }
    }
    assert!(lists > 3_500, "{lists}");
}

/// A wrong list of the fixtures.
struct Wrong {
    kind: String,
    number: u64,
    /// What go-ethereum said of the list alone.
    verdict: String,
    block: Listed,
}

fn wrong_lists(chain: &str) -> Vec<Wrong> {
    let text = blockmill_testkit::read(path(chain, "invalid-bal.json.zst"));
    let document: Value = serde_json::from_slice(&text).unwrap();
    let wrong = |entry: &Value| {
        let record = hex::decode(entry["record"].as_str().unwrap());
        let mut items = Reader::new(&record).list().unwrap();
        let header = items.item().unwrap().raw.to_vec();
        let mut transactions = items.list().unwrap();
        let count = std::iter::from_fn(|| transactions.item().ok()).count();
        items.item().unwrap();
        items.item().unwrap();
        let list = items.item().unwrap().raw.to_vec();
        Wrong {
            kind: entry["kind"].as_str().unwrap().into(),
            number: entry["number"].as_u64().unwrap(),
            verdict: entry["gethListValidate"].as_str().unwrap().into(),
            block: Listed { header, transactions: count, list },
        }
    };
    document["entries"].as_array().unwrap().iter().map(wrong).collect()
}

/// The rule that go-ethereum names in its own words.
fn rule_of(verdict: &str) -> Rule {
    let words = [
        ("not in lexicographic order", Rule::AccessListOrder),
        ("must be unique and sorted", Rule::AccessListOrder),
        ("in both read/write sets", Rule::AccessListSlot),
        ("empty slot changes", Rule::AccessListEmpty),
        ("index exceeds limit", Rule::AccessListIndex),
        ("oversized code", Rule::AccessListCode),
        ("exceeds size constraint", Rule::AccessListSize),
        ("rlp: ", Rule::AccessListEncoding),
    ];
    let found = words.iter().find(|(words, _)| verdict.contains(words));
    found.unwrap_or_else(|| panic!("{verdict}")).1
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn wrong_lists_break_the_rule_that_go_ethereum_names() {
    let mut rules = BTreeMap::new();
    for wrong in CHAINS.iter().flat_map(|chain| wrong_lists(chain)) {
        // the header of the record commits to the wrong list
        verify_access_list_hash(&wrong.block.header(), &wrong.block.list).unwrap();
        let found = check(&wrong.block.list, &wrong.block.limits()).map_err(|fault| fault.rule);
        let expected = match &*wrong.verdict {
            "ok" => Ok(()),
            verdict => Err(rule_of(verdict)),
        };
        assert_eq!(found, expected, "{} {}: {}", wrong.number, wrong.kind, wrong.verdict);
        *rules.entry(format!("{expected:?}")).or_insert(0) += 1;
    }
    assert!(rules.len() >= 5 && rules.values().sum::<usize>() > 400, "{rules:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_wrong_list_differs_in_the_entry_that_was_changed() {
    let mut kinds = BTreeMap::new();
    for chain in CHAINS {
        let right: BTreeMap<u64, Listed> =
            listed(chain).into_iter().map(|block| (block.header().number, block)).collect();
        for wrong in wrong_lists(chain).iter().filter(|wrong| wrong.verdict == "ok") {
            let expected = &wrong.block.list;
            let difference = first_difference(expected, &right[&wrong.number].list).unwrap();
            let difference = difference.unwrap_or_else(|| panic!("{}: equal", wrong.kind));
            let kind = match wrong.kind.split('-').next().unwrap() {
                "account" | "empty" => EntryKind::Account,
                "read" => EntryKind::StorageRead,
                "storage" | "write" => EntryKind::Storage,
                "balance" => EntryKind::Balance,
                "nonce" => EntryKind::Nonce,
                "code" => EntryKind::Code,
                other => panic!("{other}"),
            };
            assert_eq!(difference.entry.kind, kind, "{}: {difference:?}", wrong.kind);
            assert_ne!(difference.expected, difference.found, "{}", wrong.kind);
            *kinds.entry(wrong.kind.clone()).or_insert(0) += 1;
        }
    }
    assert!(kinds.len() >= 10, "{kinds:?}");
}
