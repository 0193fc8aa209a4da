//! Any bytes as the code of a Neo contract.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::neo_nef(data);
});
