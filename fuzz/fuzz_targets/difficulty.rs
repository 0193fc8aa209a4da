//! Difficulties in words and in big integers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::difficulty(data);
});
