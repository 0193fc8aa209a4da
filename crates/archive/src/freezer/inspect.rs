//! What is in a freezer folder, and where it is damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::index::{ENTRY, Entry};
use super::table::{ACCESS_LISTS, BODIES, DIFFICULTIES, HASHES, HEADERS, RECEIPTS, Spec, Table};
use crate::deep::{check_blocks, place_of};
use crate::{Chunk, Error, FileReport, Part, Place, TableReport};

const TABLES: [Spec; 6] = [HEADERS, HASHES, BODIES, RECEIPTS, DIFFICULTIES, ACCESS_LISTS];

/// Index entries that are read at once.
const RUN: u64 = 8192;

/// Fills in `report` for the tables in `folder`. Without `deep` every index entry is read and
/// compared with the sizes of the data files; with it every item is decompressed, its RLP checked
/// and each block's hash compared with the table of hashes.
pub(crate) fn inspect(folder: &Path, deep: bool, report: &mut FileReport) {
    report.compression = "snappy";
    let mut tables = vec![];
    for spec in TABLES {
        match Table::open(folder, spec) {
            Ok(Some(mut table)) => {
                inspect_table(&mut table, folder, report);
                tables.push(table);
            }
            Ok(None) => {}
            Err(error) => report.damaged(&error),
        }
    }
    compare_tables(folder, &tables, report);
    let headers = tables.iter().find(|table| table.spec.name == HEADERS.name);
    let Some(range) = headers.map(Table::range).filter(|range| !range.is_empty()) else {
        return;
    };
    let last = range.end - 1;
    (report.first, report.last) = (Some(range.start), Some(last));
    report.blocks = range.end - range.start;
    if deep {
        check_blocks(folder, range.start..=last, report, compare_hashes);
    }
}

fn inspect_table(table: &mut Table, folder: &Path, report: &mut FileReport) {
    let range = table.range();
    let (name, meta) = (table.spec.name, table.meta);
    let ends = match file_ends(table) {
        Ok(ends) => ends,
        Err(error) => {
            report.damaged(&error);
            BTreeMap::new()
        }
    };
    let mut bytes = table.index_size;
    for (number, end) in &ends {
        bytes += check_data_file(table, *number, *end, ends.len(), report);
    }
    if meta.tail() > range.end {
        report.damaged(&Error::BadRecord {
            place: Place::new(folder.join(table.spec.meta_name()), 0),
            what: "number of the first item",
            expected: format!("at most {}", range.end),
            found: meta.tail().to_string(),
        });
    } else if range.start > table.deleted() {
        let (from, to) = (table.deleted(), range.start - 1);
        report.notes.push(format!("{name}: items {from} to {to} are hidden"));
    }
    if table.deleted() > 0 {
        report.notes.push(format!("{name}: items before {} are deleted", table.deleted()));
    }
    let counted = table.entries() * ENTRY as u64;
    if counted < table.index_size {
        report.damaged(&Error::BadRecord {
            place: Place::new(&*table.index_path, counted),
            what: "index of a table",
            expected: format!("{counted} bytes, the flush offset"),
            found: format!("{} bytes, of which geth drops the rest", table.index_size),
        });
    }
    report.tables.push(TableReport {
        name: name.into(),
        items: range.end,
        tail: range.start,
        files: ends.len() as u64,
        bytes,
        compression: if table.spec.compressed { "snappy" } else { "none" },
        meta_version: meta.version(),
        flush_offset: meta.flushed(),
    });
}

/// The data files that the index names, and how far it says that each is filled.
fn file_ends(table: &mut Table) -> Result<BTreeMap<u16, u32>, Error> {
    let mut ends = BTreeMap::new();
    let (mut entries, end) = (Vec::<Entry>::new(), table.range().end);
    let mut next = table.deleted();
    if next < end {
        // The first file may be empty, when the first item did not fit into it.
        ends.insert(table.tail.file, 0);
    }
    while next < end {
        let count = RUN.min(end - next);
        table.read_entries(next, count as usize, &mut entries)?;
        ends.extend(entries[1..].iter().map(|entry| (entry.file, entry.end)));
        next += count;
    }
    Ok(ends)
}

/// Compares a data file with its index; its size.
fn check_data_file(
    table: &Table,
    number: u16,
    end: u32,
    files: usize,
    report: &mut FileReport,
) -> u64 {
    let path = table.data_path(number);
    let size = match fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) => {
            report.damaged(&Error::io("cannot open", &path)(error));
            return 0;
        }
    };
    let (what, needed) = (table.spec.name, u64::from(end));
    if size < needed {
        let place = Place::new(path, 0);
        report.damaged(&Error::Truncated { place, what, needed, available: size });
    } else if size > needed {
        let head = usize::from(number - table.tail.file) + 1 == files;
        let (place, expected) = (Place::new(path, needed), format!("{needed} bytes"));
        let rest = if head { ", of which geth drops the rest" } else { "" };
        let found = format!("{size} bytes{rest}");
        report.damaged(&Error::BadRecord { place, what, expected, found });
    }
    size
}

/// What the tables say together.
fn compare_tables(folder: &Path, tables: &[Table], report: &mut FileReport) {
    let without_meta = tables.iter().filter(|table| table.meta.version().is_none());
    if !tables.is_empty() && without_meta.count() == tables.len() {
        report.notes.push(
            "no .meta files (geth 1.9): current geth takes every table for one that was never \
             flushed and truncates it when it opens the folder for writing; keep a copy"
                .into(),
        );
    }
    let Some(headers) = tables.iter().find(|table| table.spec.name == HEADERS.name) else {
        return;
    };
    let expected = headers.range().end;
    for table in tables.iter().filter(|table| table.range().end != expected) {
        let (name, items) = (table.spec.name, table.range().end);
        if items == 0 {
            report.notes.push(format!("{name}: empty"));
            continue;
        }
        report.damaged(&Error::BadRecord {
            place: Place::new(folder.join(table.spec.index_name()), 0),
            what: "number of items",
            expected: format!("{expected}, as many as there are headers"),
            found: items.to_string(),
        });
    }
    warn_of_pruning(tables, report);
}

/// Bodies and receipts are pruned together, so an empty table of one empties the other.
fn warn_of_pruning(tables: &[Table], report: &mut FileReport) {
    let items = |spec: Spec| {
        let table = tables.iter().find(|table| table.spec.name == spec.name);
        table.map_or(0, |table| table.range().end)
    };
    if items(BODIES) > 0 && items(RECEIPTS) == 0 {
        report.notes.push(
            "bodies without receipts: geth 1.17 drops the bodies when it opens the folder for \
             writing"
                .into(),
        );
    }
}

/// Compares the hash of each header with the one in the table of hashes.
fn compare_hashes(chunk: &Chunk, report: &mut FileReport) {
    for (i, (header, stated)) in chunk.headers.iter().zip(&chunk.stated_hashes).enumerate() {
        let hash = crypto::keccak256(header);
        if hash != *stated {
            let hex = |hash: &[u8; 32]| hash.iter().map(|b| format!("{b:02x}")).collect();
            report.damaged(&Error::BadRecord {
                place: place_of(chunk, Part::Header, i),
                what: "hash of the header",
                expected: hex(stated),
                found: hex(&hash),
            });
        }
    }
}
