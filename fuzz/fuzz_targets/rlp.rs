//! Any bytes as RLP.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::rlp(data);
});
