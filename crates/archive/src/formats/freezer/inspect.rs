//! Inspects ancient folders.

use blockmill_verdict::{Location, Status};
use std::collections::BTreeMap;
use std::path::Path;

use blockmill_platform::files;

use super::Reader;
use super::index::{ENTRY, Entry};
use super::table::{ACCESS_LISTS, BODIES, DIFFICULTIES, HASHES, HEADERS, RECEIPTS, Spec, Table};
use crate::check_blocks::{check_blocks, compare_hashes};
use crate::listing::has_file;
use crate::report::access_lists;
use crate::{Corruption, Error, FileReport, TableReport};

const TABLES: [Spec; 6] = [HEADERS, HASHES, BODIES, RECEIPTS, DIFFICULTIES, ACCESS_LISTS];

/// Number of index entries that are read at once.
const RUN: u64 = 8192;

/// Fills in `report` for the tables in `folder`. Without `deep` every index entry is read and
/// compared with the sizes of the data files; with it every item is decompressed, its RLP checked
/// and each block's hash compared with the table of hashes.
pub(crate) fn inspect(folder: &Path, deep: bool, report: &mut FileReport) {
    let lists = compare(folder, deep, report);
    report.notes.extend(access_lists(lists));
}

/// Does what [`inspect`] does, and returns the number of block access lists.
pub(super) fn compare(folder: &Path, deep: bool, report: &mut FileReport) -> u64 {
    report.compression = "snappy";
    let (mut tables, mut lists) = (vec![], 0);
    for spec in TABLES {
        match Table::open(folder, spec) {
            Ok(Some(mut table)) => {
                let filled = inspect_table(&mut table, folder, report);
                if spec.name == ACCESS_LISTS.name {
                    lists = filled;
                }
                tables.push(table);
            }
            Ok(None) => missing_table(folder, spec, report),
            Err(error) => report.add_error(&error),
        }
    }
    inspect_other_files(folder, &mut tables, report);
    compare_tables(folder, &tables, report);
    let headers = tables.iter().find(|table| table.spec.name == HEADERS.name);
    let Some(range) = headers.map(Table::range).filter(|range| !range.is_empty()) else {
        return lists;
    };
    let last = range.end - 1;
    (report.first, report.last) = (Some(range.start), Some(last));
    report.blocks = range.end - range.start;
    if deep {
        let open = |want, range| Ok(Box::new(Reader::new(folder, want, range)?) as _);
        check_blocks(open, range.start..=last, report, compare_hashes);
    }
    lists
}

/// Adds one table to the report. Returns the number of its items that have content.
fn inspect_table(table: &mut Table, folder: &Path, report: &mut FileReport) -> u64 {
    let range = table.range();
    let (name, meta) = (table.spec.name, table.meta);
    let (ends, filled) = match file_ends(table) {
        Ok(found) => found,
        Err(error) => {
            report.add_error(&error);
            (BTreeMap::new(), 0)
        }
    };
    let mut bytes = table.index_size;
    for (number, end) in &ends {
        bytes += check_data_file(table, *number, *end, ends.len(), report);
    }
    if meta.tail() > range.end {
        report.add_error(&Error::BadRecord {
            location: Location::new(folder.join(table.spec.meta_name()), 0),
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
        report.add_error(&Error::BadRecord {
            location: Location::new(&*table.index_path, counted),
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
    filled
}

/// The data files in the index, with the length that the index states for each; and the number of
/// items that have content.
fn file_ends(table: &mut Table) -> Result<(BTreeMap<u16, u32>, u64), Error> {
    /// Bytes of an empty Snappy block.
    const EMPTY: u32 = 1;
    let (mut ends, mut filled) = (BTreeMap::new(), 0);
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
        let sizes = entries.windows(2).filter_map(|of| Some(of[1].end - of[1].start_after(of[0])?));
        filled += sizes.filter(|size| *size > EMPTY).count() as u64;
        next += count;
    }
    Ok((ends, filled))
}

/// Compares a data file with the index; returns its size.
fn check_data_file(
    table: &Table,
    number: u16,
    end: u32,
    files: usize,
    report: &mut FileReport,
) -> u64 {
    let path = table.data_path(number);
    let size = || files::length(&path).map_err(Error::io("cannot open", &path));
    let found = has_file(&path).and_then(|has_file| match has_file {
        true => size(),
        false => Err(table.missing_file(number)),
    });
    let size = match found {
        Ok(size) => size,
        Err(error) => {
            report.add_error(&error);
            return 0;
        }
    };
    let (what, needed) = (table.spec.name, u64::from(end));
    if size < needed {
        let location = Location::new(path, 0);
        let cut = Error::Truncated { location, what, needed, available: size };
        // the index has these bytes: index and file contradict each other, as a reader reports, too
        report.add(Corruption { status: Status::Corrupt, ..Corruption::from(&cut) });
    } else if size > needed {
        let head = usize::from(number - table.tail.file) + 1 == files;
        let (location, expected) = (Location::new(path, needed), format!("{needed} bytes"));
        let rest = if head { ", of which geth drops the rest" } else { "" };
        let found = format!("{size} bytes{rest}");
        report.add_error(&Error::BadRecord { location, what, expected, found });
    }
    size
}

/// Compares the tables with each other.
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
            report.notes.push(format!("not checked: {name}, a table without items"));
            continue;
        }
        report.add_error(&Error::Missing {
            location: Location::new(folder.join(table.spec.index_name()), 0),
            what: "number of items",
            expected: format!("{expected}, as many as there are headers"),
            found: items.to_string(),
        });
    }
    compare_tails(folder, tables, report);
    warn_of_pruning(tables, report);
}

/// The tables that every folder has: geth creates them before it moves the first block.
const NEVER_LEFT_OUT: [Spec; 4] = [HEADERS, HASHES, BODIES, RECEIPTS];

/// Reports a table without an index. [`inspect_other_files`] reports data files without one.
fn missing_table(folder: &Path, spec: Spec, report: &mut FileReport) {
    // folders of geth 1.9 have no metadata, and total difficulties
    let meta = folder.join(HEADERS.meta_name());
    let is_old = match files::is_there(&meta) {
        Ok(is_there) => !is_there,
        Err(error) => return report.add_error(&Error::io("cannot open", &meta)(error)),
    };
    let needed = NEVER_LEFT_OUT.iter().any(|table| table.name == spec.name)
        || spec.name == DIFFICULTIES.name && is_old;
    if needed {
        report.add_error(&Error::Missing {
            location: Location::new(folder.join(spec.index_name()), 0),
            what: "table of an ancient folder",
            expected: format!("the table of {}", spec.name),
            found: "no index".into(),
        });
    }
}

/// Reports files that belong to no index entry, and unknown tables.
fn inspect_other_files(folder: &Path, tables: &mut [Table], report: &mut FileReport) {
    let entries = match files::list(folder) {
        Ok(entries) => entries,
        Err(error) => return report.add_error(&Error::io("cannot list", folder)(error)),
    };
    let names = entries.iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let mut names: Vec<_> = names.collect();
    names.sort();
    let mut unknown = vec![];
    for name in names {
        let Some(stem) = name.strip_suffix("idx").or(name.strip_suffix("dat")) else { continue };
        let Some((table, rest)) = stem.split_once('.') else { continue };
        let Some(spec) = TABLES.iter().find(|spec| spec.name == table) else {
            unknown.push(table.to_string());
            continue;
        };
        let number = rest.split_once('.').and_then(|(number, _)| number.parse::<u16>().ok());
        let Some(number) = number.filter(|number| spec.data_name(*number) == name) else {
            continue;
        };
        let open = tables.iter_mut().find(|table| table.spec.name == spec.name);
        if !open.is_some_and(|table| table.names(number)) {
            report.add_error(&Error::Missing {
                location: Location::new(folder.join(&name), 0),
                what: "data file",
                expected: format!("items of it in {}", spec.index_name()),
                found: "none".into(),
            });
        }
    }
    unknown.dedup();
    if !unknown.is_empty() {
        report.notes.push(format!("not checked: unknown tables {}", unknown.join(", ")));
    }
}

/// Tables that geth prunes together, or never, begin with the same item.
fn compare_tails(folder: &Path, tables: &[Table], report: &mut FileReport) {
    for (one, other) in [(HEADERS, HASHES), (HEADERS, DIFFICULTIES), (BODIES, RECEIPTS)] {
        let find = |spec: Spec| tables.iter().find(|table| table.spec.name == spec.name);
        let (Some(a), Some(b)) = (find(one), find(other)) else { continue };
        let (expected, found) = (a.range().start, b.range().start);
        if expected != found && !b.range().is_empty() && !a.range().is_empty() {
            report.add_error(&Error::Missing {
                location: Location::new(folder.join(other.meta_name()), 0),
                what: "number of the first item",
                expected: format!("{expected}, as in the table of {}", one.name),
                found: found.to_string(),
            });
        }
    }
}

/// Warns of an empty table of receipts: geth prunes bodies and receipts together.
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
