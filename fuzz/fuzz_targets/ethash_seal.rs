//! Seals, many at once and by the specification.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::ethash_seal(data);
});
