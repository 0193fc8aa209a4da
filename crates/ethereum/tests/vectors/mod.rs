//! Reads the archive of public test vectors as a stream, without unpacking it to disk.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// The folder of real data, or `None` (with a line that says so) when it is not set.
pub fn fixtures() -> Option<PathBuf> {
    let folder = std::env::var_os("BLOCKMILL_FIXTURES").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: BLOCKMILL_FIXTURES is not set");
    }
    folder
}

/// Calls `each` with the name and the text of every JSON file below one of `folders`. False when
/// the fixtures are not there.
#[allow(dead_code)] // each test program uses its own part of this module
pub fn for_each_file(folders: &[&str], mut each: impl FnMut(&str, &str)) -> bool {
    let Some(fixtures) = fixtures() else { return false };
    let file = File::open(fixtures.join("ethereum/eth-tests.tar.zst")).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let mut text = String::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_string_lossy().into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name);
        if name.ends_with(".json") && folders.iter().any(|folder| name.starts_with(folder)) {
            text.clear();
            entry.read_to_string(&mut text).unwrap();
            each(name, &text);
        }
    }
    true
}

/// Bytes from hexadecimal text with or without 0x.
#[allow(dead_code)]
pub fn hex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}
