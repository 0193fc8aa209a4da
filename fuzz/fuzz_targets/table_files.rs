//! Any files as a store with a table and a log file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::table_files(data);
});
