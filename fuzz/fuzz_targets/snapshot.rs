//! Flat snapshots of a state.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::snapshot(data);
});
