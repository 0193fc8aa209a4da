//! Any files as an ancient folder.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::freezer(data);
});
