//! Any records inside a sound era1 file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::era1_records(data);
});
