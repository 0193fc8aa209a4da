//! Blocks, by the fast decoder and by the plain one.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::bitcoin_block(data);
});
