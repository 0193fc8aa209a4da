//! Changed spends of every form: templates accept what the library accepts.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    blockmill_fuzz::bitcoin_scripts(data);
});
