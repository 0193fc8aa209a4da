//! Any bytes as the end of a file of headers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::bitcoin_headers(data);
});
