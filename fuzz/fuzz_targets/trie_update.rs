//! Tries that change block by block, and by the definition.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::trie_update(data);
});
