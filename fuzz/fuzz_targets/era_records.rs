//! Any beacon blocks inside a sound era file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::era_records(data);
});
