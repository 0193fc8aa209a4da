//! Single blocks with the state that they need.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::witness(data);
});
