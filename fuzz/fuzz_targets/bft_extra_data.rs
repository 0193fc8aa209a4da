//! Any bytes as the extra data of validators.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::bft_extra_data(data);
});
