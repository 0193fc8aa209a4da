//! Reads tables that the program wrote.

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// The manifest of an export.
pub fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

/// The files in a folder and in those below it, by their paths there.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

/// Every row of an export by its table, in the order of the manifest.
pub fn rows(folder: &Path) -> BTreeMap<String, Vec<RecordBatch>> {
    let mut tables: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in manifest(folder)["files"].as_array().unwrap() {
        let rows = tables.entry(file["table"].as_str().unwrap().to_owned()).or_default();
        let before = rows.len();
        let path = folder.join(file["file"].as_str().unwrap());
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            rows.extend((0..batch.num_rows()).map(|row| batch.slice(row, 1)));
        }
        assert_eq!(file["rows"], rows.len() - before);
    }
    tables
}

/// Checks that two exports have the same rows, and some.
pub fn assert_same_rows(a: &Path, b: &Path) {
    let [a, b] = [a, b].map(rows);
    assert!(a.keys().eq(b.keys()), "{:?} {:?}", a.keys(), b.keys());
    for (table, rows) in a {
        assert_eq!(rows.len(), b[&table].len(), "{table}");
        assert!(rows == b[&table], "{table}");
        assert!(table != "blocks" || !rows.is_empty());
    }
}
