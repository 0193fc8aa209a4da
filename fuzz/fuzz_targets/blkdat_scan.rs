//! Any bytes as a file of blocks, read in every way.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::blkdat_scan(data);
});
