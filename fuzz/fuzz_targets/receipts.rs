//! Any bytes as the receipts of a block.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::receipts(data);
});
