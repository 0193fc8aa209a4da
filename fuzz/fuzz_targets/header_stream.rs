//! Any bytes as a header stream.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::header_stream(data);
});
