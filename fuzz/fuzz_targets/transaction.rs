//! Any bytes as a transaction.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::transaction(data);
});
