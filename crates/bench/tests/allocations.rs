//! What encoding and hashing take from the heap: nothing for a hash, one buffer for an encoding.
//! One test alone, since the counter sees every thread.

use blockmill_bench::counting::{self, CountingAllocator};
use blockmill_bench::workloads::rlp::objects;
use blockmill_ethereum::access_list::{
    self, AccountChanges, BalanceChange, BlockAccessList, CodeChange, ListLimits, MAX_CODE_SIZE,
    NonceChange, SlotChanges, StorageChange,
};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::{
    AccessListEntry, Account, Child, Log, Outcome, PathBuffer, Receipt, Transaction,
    TransactionType, TrieNode,
};
use blockmill_rlp::{Decode, Encode, Encoder, List, U256};
use std::hint::black_box;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator(std::alloc::System);

fn allocations<T>(work: impl FnOnce() -> T) -> u64 {
    counting::count(|| drop(black_box(work()))).allocations
}

/// All that can be done with one value.
fn check<T: Encode + ?Sized>(name: &str, value: &T) {
    assert_eq!(allocations(|| value.hash()), 0, "hash of {name}");
    assert_eq!(allocations(|| value.encode()), 1, "encoding of {name}");
    let mut large_enough = Vec::with_capacity(value.encoded_len());
    assert_eq!(allocations(|| value.encode_into(&mut large_enough)), 0, "{name} into a buffer");
    let mut encoder = Encoder::default();
    assert!(allocations(|| encoder.encode(value).len()) > 0, "{name}: an encoder begins empty");
    assert_eq!(allocations(|| encoder.encode(value).len()), 0, "{name} with a warm encoder");
    assert_eq!(allocations(|| encoder.hash(value)), 0, "hash of {name} with a warm encoder");
    assert_eq!(encoder.hash(value), value.hash(), "{name}");
}

fn check_each<T: Encode>(name: &str, values: &[T]) {
    let mut hashes = vec![[0; 32]; values.len()];
    for hasher in ManyKeccak::all_available() {
        let counted = allocations(|| blockmill_rlp::hash_each(values, &hasher, &mut hashes));
        assert_eq!(counted, 0, "hashes of {name}, {}", hasher.name());
        assert_eq!(hashes.last().copied(), values.last().map(Encode::hash), "{name}");
    }
}

/// Receipts, accounts and nodes of tries.
fn check_stored_objects() {
    let (address, word, bloom) = ([1; 20], [2; 32], [3; 256]);
    let topics = [&word; 4];
    let log = Log { address: &address, topics: List::Values(&topics), data: &[4; 500] };
    let logs = vec![log; 300];
    let receipt = Receipt {
        kind: TransactionType::DynamicFee,
        outcome: Outcome::Success,
        cumulative_gas: 21_000,
        bloom: &bloom,
        logs: List::Values(&logs),
    };
    check("a receipt", &receipt);
    check("a receipt as the trie holds it", &receipt.canonical());
    check("a receipt as geth stores it", &receipt.stored());
    let balance = U256::from(7).pow(U256::from(50));
    let account = Account { nonce: 9, balance, storage_root: &word, code_hash: &word };
    check("an account", &account);
    let value = account.encode();
    let path = PathBuffer::new(&word, 3..64, true);
    check("a leaf", &TrieNode::Leaf { path: path.path(), value: &value });
    let children = [Child::Hash(&word); 16];
    check("a branch", &TrieNode::Branch { children, value: &[] });
}

/// Transactions of every type in one block, with lists inside, and their hashes.
fn check_typed_transactions() {
    let (address, keys) = ([1; 20], [[2; 32]; 40]);
    let entry = AccessListEntry { address: &address, storage_keys: List::Values(&keys) };
    let entries = vec![entry; 30];
    let transaction = |kind| Transaction {
        to: Some(&address),
        access_list: List::Values(&entries),
        blob_hashes: List::Values(&keys),
        ..Transaction::new(kind)
    };
    let transactions = TransactionType::ALL.map(transaction);
    for transaction in &transactions {
        check("a transaction with lists", transaction);
        check("the canonical form", &transaction.canonical());
    }
    let list = List::Values(&transactions);
    let bytes = list.encode();
    let decoded = List::<Transaction<'_>>::decode(&bytes).unwrap();
    let mut hashes = [[0; 32]; 5];
    for list in [&list, &decoded] {
        let counted = allocations(|| list.hashes(&ManyKeccak::detect(), &mut hashes));
        assert_eq!(counted, 0, "hashes of a block's transactions");
    }
}

/// A block access list of two accounts with entries of every kind: written, hashed, and held to its
/// rules.
fn check_access_list() {
    let account = |address: u8| AccountChanges {
        address: [address; 20],
        storage_changes: (0..40)
            .map(|slot| SlotChanges {
                slot: U256::from(slot),
                changes: vec![StorageChange { index: 1, value: U256::MAX }],
            })
            .collect(),
        storage_reads: (40..80).map(U256::from).collect(),
        balance_changes: vec![BalanceChange { index: 1, balance: U256::MAX }],
        nonce_changes: vec![NonceChange { index: 1, nonce: 1 }],
        code_changes: vec![CodeChange { index: 1, code: vec![1; 500] }],
    };
    let list = BlockAccessList { accounts: vec![account(1), account(2)] };
    check("a block access list", &list);
    let bytes = list.encode();
    let limits = ListLimits { gas_limit: 60_000_000, transactions: 1, code: MAX_CODE_SIZE };
    assert_eq!(allocations(|| access_list::check(&bytes, &limits)), 0, "check of a list");
}

#[test]
fn a_hash_takes_nothing_from_the_heap_and_an_encoding_one_buffer() {
    assert!(counting::is_installed());
    check("a transaction", &objects::transaction(0));
    check("a header", &objects::header(0));
    check_stored_objects();
    check_typed_transactions();
    check_access_list();
    // as many lists as there are places for notes on the stack, and more
    for count in [0, 8, 1_280, 5_000] {
        let transactions = objects::transactions(count);
        check(&format!("a list of {count} transactions"), &transactions[..]);
        check(&format!("a block of {count} transactions"), &objects::block(&transactions));
        check_each(&format!("{count} transactions"), &transactions);
        check_each(&format!("{count} headers"), &objects::headers(count));
    }
}
