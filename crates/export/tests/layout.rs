//! How files are laid out: row groups, sorting, filters, indexes, and the same by any number of
//! threads.

mod exports;

use blockmill_export::ethereum::read::transactions;
use blockmill_export::ethereum::tables::TRANSACTIONS;
use exports::{Asked, export, files_of};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use std::fs::{self, File};
use std::path::Path;

const CHAIN: &str = "ethereum/chains/hive-engine/chain.rlp";

fn open(path: &Path) -> SerializedFileReader<File> {
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options =
        ReadOptionsBuilder::new().with_reader_properties(properties).with_page_index().build();
    SerializedFileReader::new_with_options(File::open(path).unwrap(), options).unwrap()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn row_groups_are_bounded_sorted_and_searchable() {
    let paths = [blockmill_testkit::fixture(CHAIN)];
    let asked = Asked { tables: &["transactions"], row_group: 300_000, ..Asked::default() };
    let folder = export(&paths, &asked).unwrap();
    let [path] = &files_of(folder.path(), "transactions")[..] else { panic!("one file") };
    let file = open(path);
    let metadata = file.metadata();
    assert!(metadata.num_row_groups() > 3, "{}", metadata.num_row_groups());
    let names: Vec<_> = TRANSACTIONS.columns.iter().map(|column| column.name).collect();
    let mut hashes = vec![];
    transactions(path, |transaction| {
        hashes.push(transaction.hash);
        Ok(())
    })
    .unwrap();
    let mut rows = 0;
    for (at, group) in metadata.row_groups().iter().enumerate() {
        let sorting = group.sorting_columns().unwrap().iter();
        let sorted: Vec<_> = sorting.map(|by| names[by.column_idx as usize]).collect();
        assert_eq!(sorted, TRANSACTIONS.sorted);
        for (column, found) in TRANSACTIONS.columns.iter().zip(group.columns()) {
            let dictionary = Encoding::RLE_DICTIONARY;
            assert!(!found.encodings().any(|encoding| encoding == dictionary), "{}", column.name);
            assert_eq!(found.compression() == Compression::UNCOMPRESSED, column.random);
            assert_eq!(found.bloom_filter_offset().is_some(), column.searched, "{}", column.name);
            assert!(found.offset_index_offset().is_some(), "{}", column.name);
        }
        let numbers = group.column(names.iter().position(|name| *name == "block_number").unwrap());
        assert!(numbers.statistics().is_some() && numbers.column_index_offset().is_some());
        // the filter knows the hashes of its row group, and few others
        let reader = file.get_row_group(at).unwrap();
        let filter = reader.get_column_bloom_filter(0).unwrap();
        let own = rows..rows + group.num_rows() as usize;
        let (inside, outside): (Vec<_>, Vec<_>) =
            (0..hashes.len()).partition(|row| own.contains(row));
        assert!(inside.iter().all(|row| filter.check(&hashes[*row][..])));
        let wrong = outside.iter().filter(|row| filter.check(&hashes[**row][..])).count();
        assert!(wrong < outside.len() / 20, "{wrong} of {}", outside.len());
        rows = own.end;
    }
    assert_eq!(rows, 11_264);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_are_the_same_by_any_number_of_threads_and_any_chunks() {
    let paths = [blockmill_testkit::fixture(CHAIN)];
    let tables = ["blocks", "transactions"];
    let asked = Asked { tables: &tables, row_group: 500_000, ..Asked::default() };
    let first = export(&paths, &asked).unwrap();
    for (threads, chunk) in [(1, 256), (3, 7), (8, 100), (2, 2048)] {
        let other = export(&paths, &Asked { threads, chunk, ..asked }).unwrap();
        for table in tables {
            let [a] = &files_of(first.path(), table)[..] else { panic!("one file") };
            let [b] = &files_of(other.path(), table)[..] else { panic!("one file") };
            assert_eq!(a.file_name(), b.file_name());
            assert!(
                fs::read(a).unwrap() == fs::read(b).unwrap(),
                "{table}, {threads} threads, {chunk}"
            );
        }
    }
}
