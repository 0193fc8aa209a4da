//! Block files with all that can be wrong with them.

mod compressed;
mod damaged;
mod folders;
mod generated;
mod growing;

use std::path::Path;

use blockmill_platform::input_file::InputFile;

use super::{FileReport, Network, Positioned, Record, Scanner, Source, XorKey};

const MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];

/// Scans `clear`, obfuscated with `key`, from memory and from the file at `path`; both must find
/// the same.
fn scan_both_ways(clear: &[u8], key: XorKey, path: &Path) -> (Vec<Record>, FileReport) {
    let mut bytes = clear.to_vec();
    key.apply(&mut bytes, 0);
    std::fs::write(path, &bytes).unwrap();
    let file = InputFile::open(path).unwrap();
    let first = scan(&bytes[..], bytes.len(), key);
    assert_eq!(scan(Positioned::new(&file), bytes.len(), key), first);
    first
}

fn scan(source: impl Source, length: usize, key: XorKey) -> (Vec<Record>, FileReport) {
    let mut scanner = Scanner::new(source, length as u64, key, Network::Regtest.magic());
    let (mut records, mut body) = (vec![], vec![]);
    while let Some(record) = scanner.next_record().unwrap() {
        scanner.body(&record, &mut body).unwrap();
        assert_eq!((body.len(), &body[..80]), (record.size as usize, &record.header[..]));
        records.push(record);
    }
    (records, scanner.into_report())
}
