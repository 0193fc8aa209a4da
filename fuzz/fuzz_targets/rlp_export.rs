//! Any bytes as an RLP export.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::rlp_export(data);
});
