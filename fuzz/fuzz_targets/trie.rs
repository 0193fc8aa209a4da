//! Trie roots, streamed and by the definition.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::trie(data);
});
