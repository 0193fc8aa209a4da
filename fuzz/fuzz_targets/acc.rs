//! Any bytes as a dump of Neo blocks.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::acc(data);
});
