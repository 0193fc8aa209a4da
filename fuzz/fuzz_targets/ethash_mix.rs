//! The inner loop of ethash at every width.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::ethash_mix(data);
});
