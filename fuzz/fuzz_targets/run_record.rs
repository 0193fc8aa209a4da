//! Any bytes as a run record.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::run_record(data);
});
