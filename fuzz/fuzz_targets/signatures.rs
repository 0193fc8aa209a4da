//! Signatures in batches, by every variant.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::signatures(data);
});
