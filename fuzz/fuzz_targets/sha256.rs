//! SHA-256 at every width.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::sha256(data);
});
