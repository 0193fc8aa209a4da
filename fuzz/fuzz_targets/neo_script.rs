//! Any bytes as a script of Neo.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::neo_script(data);
});
