//! What encoding and hashing take from the heap: nothing for a hash, one buffer for an encoding.
//! One test alone, since the counter sees every thread.

use blockmill_bench::counting::{self, CountingAllocator};
use blockmill_bench::writers::objects;
use crypto::ManyKeccak;
use rlp::{Encode, Encoder};
use std::hint::black_box;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

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
        let counted = allocations(|| rlp::hash_each(values, &hasher, &mut hashes));
        assert_eq!(counted, 0, "hashes of {name}, {}", hasher.name());
        assert_eq!(hashes.last().copied(), values.last().map(Encode::hash), "{name}");
    }
}

#[test]
fn a_hash_takes_nothing_from_the_heap_and_an_encoding_one_buffer() {
    assert!(counting::is_installed());
    check("a transaction", &objects::transaction(0));
    check("a header", &objects::header(0));
    // as many lists as there are places for notes on the stack, and more
    for count in [0, 8, 1_280, 5_000] {
        let transactions = objects::transactions(count);
        check(&format!("a list of {count} transactions"), &transactions[..]);
        check(&format!("a block of {count} transactions"), &objects::block(&transactions));
        check_each(&format!("{count} transactions"), &transactions);
        check_each(&format!("{count} headers"), &objects::headers(count));
    }
}
