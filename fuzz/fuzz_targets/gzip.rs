//! Any bytes as a gzip stream of blocks or headers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::gzip(data);
});
