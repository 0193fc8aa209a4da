//! State tests of the execution layer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::state_test(data);
});
