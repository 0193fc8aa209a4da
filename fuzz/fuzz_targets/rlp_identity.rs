//! Any bytes, decoded and encoded again.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::rlp_identity(data);
});
