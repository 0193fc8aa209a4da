//! Any text as a genesis.json.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::genesis_json(data);
});
