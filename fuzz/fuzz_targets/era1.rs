//! Any bytes as an era1 file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::era1(data);
});
