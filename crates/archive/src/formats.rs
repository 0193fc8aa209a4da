//! The table of formats: a row of functions for each format that [`Archive`](crate::Archive) reads.
//!
//! Opening, inspecting, surveying and writing archives ask this table; nothing else distinguishes
//! formats. A new format is a module in this folder, its row here, and its names in
//! [`crate::format`].

pub mod acc;
pub mod blkdat;
pub(crate) mod block_store;
pub(crate) mod e2store;
pub(crate) mod era;
pub mod era1;
pub(crate) mod ere;
pub mod freezer;
pub mod headers;
pub mod rlp_export;

use std::path::{Path, PathBuf};

use crate::row::{BlockRange, Recognise, Row, StoredParts};
use crate::target::{Files, Output, Target};
use crate::{Error, Format, ReceiptEncoding, stream};

const HEADERS: StoredParts = StoredParts {
    bodies: false,
    receipts: None,
    access_lists: false,
    total_difficulties: false,
    optional: false,
    genesis: false,
};
const BODIES: StoredParts = StoredParts { bodies: true, access_lists: true, ..HEADERS };

/// Bytes of the shortest header: it has five hashes, three roots among them, and a bloom filter.
const LEAST_HEADER: u64 = 450;
/// Bytes of a header compressed with gzip: its hashes do not compress.
const LEAST_PACKED: u64 = 100;

const ETHEREUM: Target = Target {
    name: "",
    help: "",
    files: Files::One,
    least_block: LEAST_HEADER,
    names_network: false,
    output: Output::Blocks(Format::HeaderStream, false),
};

/// The formats that [`Archive`](crate::Archive) reads, in the order of [`Format`].
pub(crate) static ARCHIVES: [Row; 7] = [
    Row {
        format: Format::Era1,
        targets: &[Target {
            name: "era1",
            help: "era1 files of 8,192 blocks",
            files: Files::InFolder(era1::is_own_file),
            names_network: true,
            output: Output::Blocks(Format::Era1, false),
            ..ETHEREUM
        }],
        recognise: Recognise::File(era1::recognise),
        network: e2store::name::network_of,
        range: |file| Ok(first_and_last(era1::block_range(file)?)),
        parts: StoredParts {
            receipts: Some(ReceiptEncoding::Consensus),
            access_lists: false,
            total_difficulties: true,
            genesis: true,
            ..BODIES
        },
        contents: None,
        random_access: true,
        open: |files, want, range| Ok(Box::new(era1::Reader::new(files, want, range))),
        inspect: era1::inspect,
        survey: |file, _, survey| {
            era1::survey(file, survey);
            Ok(())
        },
        create: Some(|path, options| {
            Ok(Box::new(era1::Writer::create(path, &options.network, options.replace)?))
        }),
    },
    Row {
        format: Format::Ere,
        targets: &[Target {
            name: "ere",
            help: "ere files of 8,192 blocks, as go-ethereum writes them",
            files: Files::InFolder(ere::is_own_file),
            names_network: true,
            output: Output::Blocks(Format::Ere, false),
            ..ETHEREUM
        }],
        recognise: Recognise::File(ere::recognise),
        network: e2store::name::network_of,
        range: |file| Ok(first_and_last(ere::block_range(file)?)),
        parts: StoredParts {
            receipts: Some(ReceiptEncoding::Slim),
            access_lists: false,
            total_difficulties: true,
            optional: true,
            genesis: true,
            ..BODIES
        },
        contents: Some(ere::contents),
        random_access: true,
        open: |files, want, range| Ok(Box::new(ere::Reader::new(files, want, range))),
        inspect: ere::inspect,
        survey: ere::survey,
        create: Some(|path, options| {
            Ok(Box::new(ere::Writer::create(path, &options.network, options.replace)?))
        }),
    },
    Row {
        format: Format::Era,
        // the beacon chain is not in a chain of execution blocks
        targets: &[],
        recognise: Recognise::File(era::recognise),
        network: e2store::name::network_of,
        range: |file| Ok(first_and_last(era::block_range(file)?)),
        parts: StoredParts { access_lists: false, ..BODIES },
        contents: None,
        random_access: true,
        open: |files, want, range| Ok(Box::new(era::Reader::new(files, want, range))),
        inspect: era::inspect,
        survey: era::survey,
        create: None,
    },
    Row {
        format: Format::Store,
        targets: &[
            Target {
                name: "snapshot",
                help: "The state of a store of executed blocks in one file, sorted and flat",
                least_block: 0,
                output: Output::Snapshot,
                ..ETHEREUM
            },
            Target {
                name: "state-jsonl",
                help: "The state of a store of executed blocks in lines, as geth dumps it",
                least_block: 0,
                output: Output::StateDump,
                ..ETHEREUM
            },
        ],
        recognise: Recognise::Folder(|folder| {
            Ok(block_store::is_store(folder)?.then(|| folder.to_path_buf()))
        }),
        network: |_| None,
        range: |folder| Ok(first_and_last(block_store::block_range(folder)?)),
        parts: BODIES,
        contents: Some(block_store::contents),
        random_access: false,
        open: |files, want, range| {
            Ok(Box::new(block_store::Reader::new(only(&files), want, range)?))
        },
        inspect: block_store::inspect,
        survey: |folder, _, survey| {
            survey.notes.extend(block_store::notes(folder));
            Ok(())
        },
        create: None,
    },
    Row {
        format: Format::Freezer,
        targets: &[Target {
            name: "freezer",
            help: "A geth ancient folder",
            files: Files::Folder(freezer::is_own_file),
            output: Output::Blocks(Format::Freezer, false),
            ..ETHEREUM
        }],
        recognise: Recognise::Folder(freezer::tables_folder),
        network: |_| None,
        range: |tables| Ok(first_and_last(freezer::block_range(tables)?)),
        parts: StoredParts { receipts: Some(ReceiptEncoding::Storage), genesis: true, ..BODIES },
        contents: None,
        random_access: false,
        open: |files, want, range| Ok(Box::new(freezer::Reader::new(only(&files), want, range)?)),
        inspect: freezer::inspect,
        survey: freezer::survey,
        create: Some(|path, _| Ok(Box::new(freezer::Writer::create(path)?))),
    },
    Row {
        format: Format::RlpExport,
        targets: &[
            Target {
                name: "rlp",
                help: "What `geth export` writes",
                output: Output::Blocks(Format::RlpExport, false),
                ..ETHEREUM
            },
            Target {
                name: "rlp-gz",
                help: "The same, compressed",
                least_block: LEAST_PACKED,
                output: Output::Blocks(Format::RlpExport, true),
                ..ETHEREUM
            },
        ],
        recognise: Recognise::File(|_, head| Ok(rlp_export::recognise(head))),
        network: |_| None,
        range: |file| first_of_stream(&rlp_export::LISTS, file),
        parts: BODIES,
        contents: None,
        random_access: false,
        open: |files, want, range| {
            Ok(Box::new(stream::Reader::new(&rlp_export::LISTS, files, want, range)))
        },
        inspect: |file, deep, report| stream::inspect(&rlp_export::LISTS, file, deep, report),
        survey: |_, _, _| Ok(()),
        create: Some(|path, options| {
            Ok(Box::new(rlp_export::RlpExportWriter::create(path, options.gzip)?))
        }),
    },
    Row {
        format: Format::HeaderStream,
        targets: &[Target {
            name: "headers",
            help: "Headers back to back: their RLP; of Bitcoin, 80 bytes each",
            output: Output::Blocks(Format::HeaderStream, false),
            ..ETHEREUM
        }],
        recognise: Recognise::File(|_, head| Ok(headers::recognise(head))),
        network: |_| None,
        range: |file| first_of_stream(&headers::LISTS, file),
        parts: HEADERS,
        contents: None,
        random_access: false,
        open: |files, want, range| {
            Ok(Box::new(stream::Reader::new(&headers::LISTS, files, want, range)))
        },
        inspect: |file, deep, report| stream::inspect(&headers::LISTS, file, deep, report),
        survey: |_, _, _| Ok(()),
        create: Some(|path, options| {
            Ok(Box::new(headers::HeaderStreamWriter::create(path, options.gzip)?))
        }),
    },
];

/// Targets that are no archives of this table: Bitcoin block files, Neo dumps, and databases built
/// from their stores.
static OTHER_TARGETS: [Target; 5] = [
    Target {
        name: "blk",
        help: "Bitcoin block files in the order of the chain",
        files: Files::Folder(blkdat::is_own_file),
        least_block: 0,
        names_network: false,
        output: Output::BlockFiles,
    },
    Target {
        name: "core",
        help: "A datadir that Bitcoin Core opens and continues from",
        files: Files::Folder(blkdat::is_of_datadir),
        least_block: 0,
        names_network: false,
        output: Output::CoreDatadir,
    },
    Target {
        name: "acc",
        help: "What `neo-go db dump` writes; incremental with --from",
        files: Files::One,
        least_block: acc::MIN_BLOCK as u64,
        names_network: false,
        output: Output::Dump(false),
    },
    Target {
        name: "acc-gz",
        help: "The same, compressed",
        files: Files::One,
        least_block: LEAST_PACKED,
        names_network: false,
        output: Output::Dump(true),
    },
    Target {
        name: "neo-go",
        help: "A database that neo-go opens and continues from, of a store of executed blocks",
        files: Files::Folder(blockmill_leveldb::is_own_file),
        least_block: acc::MIN_BLOCK as u64,
        names_network: false,
        output: Output::NeoGoDatabase,
    },
];

impl Format {
    pub(crate) fn row(self) -> &'static Row {
        &ARCHIVES[self as usize]
    }

    /// The parts of blocks that the format stores.
    pub fn parts(self) -> StoredParts {
        self.row().parts
    }
}

impl Target {
    /// Every target.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ARCHIVES.iter().flat_map(|row| row.targets).chain(&OTHER_TARGETS)
    }

    /// The target with this `name` on the command line.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().find(|target| target.name == name)
    }
}

/// The folder of an archive that is a folder.
fn only(files: &[PathBuf]) -> &Path {
    files.first().map_or(Path::new(""), PathBuf::as_path)
}

fn first_and_last(range: Option<(u64, u64)>) -> BlockRange {
    range.map(|(first, last)| (first, Some(last)))
}

/// A stream states its first block only.
fn first_of_stream(lists: &'static stream::ListFormat, file: &Path) -> Result<BlockRange, Error> {
    Ok(stream::first_number(lists, file)?.map(|first| (first, None)))
}

#[cfg(test)]
mod tests;
