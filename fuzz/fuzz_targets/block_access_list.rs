//! Any bytes as a block access list.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::block_access_list(data);
});
