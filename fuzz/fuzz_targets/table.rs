//! Changes of a table, against a map.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::table(data);
});
