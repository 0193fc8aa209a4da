//! Undo data and coins, in each encoding.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::bitcoin_undo(data);
});
