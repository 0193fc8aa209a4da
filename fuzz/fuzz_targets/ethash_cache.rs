//! Any bytes as an ethash cache file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::ethash_cache(data);
});
