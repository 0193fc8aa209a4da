//! The formats that this program knows: one table, with a row of properties for each. What finds,
//! opens, inspects, surveys and writes archives asks this table, and so do command line, help and
//! messages; nothing else tells formats apart. A new format is its reader, and its row.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::family::Family;
use crate::open::ReadBlocks;
use crate::target::{Files, Output, Target};
use crate::write::WriteBlocks;
use crate::{
    Error, FileReport, Survey, Want, WriteOptions, blkdat, block_store, era1, freezer, headers,
    rlp_export, stream,
};

/// A format that [`Archive`](crate::Archive) reads. The order is that of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// e2store files of 8,192 blocks with bodies, receipts and an accumulator.
    Era1,
    /// The store of an Ethereum import of this program.
    Store,
    /// geth's "ancient" folder of append-only tables.
    Freezer,
    /// What `geth export` writes: one RLP list for each block. Plain or compressed.
    RlpExport,
    /// The RLP of headers, one after the other. Plain or compressed.
    HeaderStream,
}

/// What a format is called, and what can be written in it.
#[derive(Debug)]
pub struct Properties {
    /// In records, documents and on the command line.
    pub name: &'static str,
    /// "a" or "an"; empty before a plural.
    article: &'static str,
    /// In sentences.
    pub noun: &'static str,
    /// Whose blocks are in it.
    pub family: Family,
    /// What specifies its bytes.
    pub document: &'static str,
    /// What `convert --to` and `generate --format` offer.
    pub targets: &'static [Target],
}

/// What there is of each block besides its header, and of which chain it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    pub bodies: bool,
    pub receipts: bool,
    /// Hash of the genesis block, where it is stated.
    pub chain: Option<[u8; 32]>,
    /// Total difficulty of the last block, big-endian, where it is stated without being read.
    pub total: Option<[u8; 32]>,
}

/// How a file or a folder is told to be of a format.
pub(crate) enum Recognise {
    /// By the first bytes of a file. Fails for a file that is something else for sure.
    File(fn(&Path, &[u8]) -> Result<bool, Error>),
    /// The folder in which the archive lies that another folder stands for. It is an archive alone.
    Folder(fn(&Path) -> Result<Option<PathBuf>, Error>),
}

/// First and, where it is cheap to tell, last block.
pub(crate) type Range = Option<(u64, Option<u64>)>;
/// Opens files, in the order of their blocks, for the blocks in a range.
type Open = fn(Vec<PathBuf>, Want, RangeInclusive<u64>) -> Result<Box<dyn ReadBlocks>, Error>;

/// Begins an archive.
type Create = fn(&Path, &WriteOptions) -> Result<Box<dyn WriteBlocks>, Error>;

/// All that is known of a format that [`Archive`](crate::Archive) reads.
pub(crate) struct Row {
    pub format: Format,
    pub properties: Properties,
    pub recognise: Recognise,
    /// How names usually end: what is named so and has another content is damaged.
    pub endings: &'static [&'static str],
    /// The network's name, where a file's name carries it.
    pub network: fn(&Path) -> Option<String>,
    /// What blocks are in a file or folder.
    pub range: fn(&Path) -> Result<Range, Error>,
    /// What there is of each block.
    pub kept: fn(&Path) -> Result<Kept, Error>,
    /// Is it read here and there? Then compressed files are copied to be read.
    pub jumps: bool,
    pub open: Open,
    pub inspect: fn(&Path, bool, &mut FileReport),
    pub survey: fn(&Path, Want, &mut Survey) -> Result<(), Error>,
    /// None where only an import makes one.
    pub create: Option<Create>,
}

/// A header has five hashes, three roots among them, and a bloom filter.
const LEAST_HEADER: u64 = 450;
/// What is left of it by gzip: the hashes.
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
pub(crate) static ARCHIVES: [Row; 5] = [
    Row {
        format: Format::Era1,
        properties: Properties {
            name: "era1",
            article: "an",
            noun: "era1 file",
            family: Family::Ethereum,
            document: "docs/formats/era1.md",
            targets: &[Target {
                name: "era1",
                help: "era1 files of 8,192 blocks",
                files: Files::InFolder(era1::is_own_file),
                names_network: true,
                output: Output::Blocks(Format::Era1, false),
                ..ETHEREUM
            }],
        },
        recognise: Recognise::File(era1::recognise),
        endings: &[".era1"],
        network: era1::network_of,
        range: |file| Ok(first_and_last(era1::block_range(file)?)),
        kept: |_| Ok(Kept { bodies: true, receipts: true, ..Kept::default() }),
        jumps: true,
        open: |files, want, range| Ok(Box::new(era1::Reader::new(files, want, range)?)),
        inspect: era1::inspect,
        survey: |file, _, survey| {
            survey.notes.extend(era1::notes(file));
            Ok(())
        },
        create: Some(|path, options| {
            Ok(Box::new(era1::Writer::create(path, &options.network, options.replace)?))
        }),
    },
    Row {
        format: Format::Store,
        properties: Properties {
            name: "store",
            article: "a",
            noun: "store",
            family: Family::Ethereum,
            document: "docs/formats/segment.md",
            targets: &[Target {
                name: "snapshot",
                help: "The state of a store of executed blocks in one file, sorted and flat",
                least_block: 0,
                output: Output::Snapshot,
                ..ETHEREUM
            }],
        },
        recognise: Recognise::Folder(|folder| {
            Ok(block_store::is_store(folder)?.then(|| folder.to_path_buf()))
        }),
        endings: &[],
        network: |_| None,
        range: |folder| Ok(first_and_last(block_store::block_range(folder)?)),
        kept: block_store::kept,
        jumps: false,
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
        properties: Properties {
            name: "freezer",
            article: "an",
            noun: "ancient folder",
            family: Family::Ethereum,
            document: "docs/formats/freezer.md",
            targets: &[Target {
                name: "freezer",
                help: "A geth ancient folder",
                files: Files::Folder(freezer::is_own_file),
                output: Output::Blocks(Format::Freezer, false),
                ..ETHEREUM
            }],
        },
        recognise: Recognise::Folder(freezer::tables_folder),
        endings: &[],
        network: |_| None,
        range: |tables| Ok(first_and_last(freezer::block_range(tables)?)),
        kept: |_| Ok(Kept { bodies: true, receipts: true, ..Kept::default() }),
        jumps: false,
        open: |files, want, range| Ok(Box::new(freezer::Reader::new(only(&files), want, range)?)),
        inspect: freezer::inspect,
        survey: freezer::survey,
        create: Some(|path, _| Ok(Box::new(freezer::Writer::create(path)?))),
    },
    Row {
        format: Format::RlpExport,
        properties: Properties {
            name: "rlp",
            article: "an",
            noun: "RLP export",
            family: Family::Ethereum,
            document: "docs/formats/rlp-export.md",
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
        },
        recognise: Recognise::File(|_, head| Ok(rlp_export::recognise(head))),
        endings: &[".rlp"],
        network: |_| None,
        range: |file| first_of_stream(Format::RlpExport, file),
        kept: |_| Ok(Kept { bodies: true, ..Kept::default() }),
        jumps: false,
        open: |files, want, range| {
            let format = Format::RlpExport;
            Ok(Box::new(stream::Reader::new(format, files, want, range)))
        },
        inspect: |file, deep, report| stream::inspect(Format::RlpExport, file, deep, report),
        survey: |_, _, _| Ok(()),
        create: Some(|path, options| {
            Ok(Box::new(rlp_export::RlpExportWriter::create(path, options.gzip)?))
        }),
    },
    Row {
        format: Format::HeaderStream,
        properties: Properties {
            name: "headers",
            article: "a",
            noun: "header stream",
            family: Family::Ethereum,
            document: "docs/formats/header-stream.md",
            targets: &[Target {
                name: "headers",
                help: "Bare header RLP, back to back",
                output: Output::Blocks(Format::HeaderStream, false),
                ..ETHEREUM
            }],
        },
        recognise: Recognise::File(|_, head| Ok(headers::recognise(head))),
        endings: &[],
        network: |_| None,
        range: |file| first_of_stream(Format::HeaderStream, file),
        kept: |_| Ok(Kept::default()),
        jumps: false,
        open: |files, want, range| {
            let format = Format::HeaderStream;
            Ok(Box::new(stream::Reader::new(format, files, want, range)))
        },
        inspect: |file, deep, report| stream::inspect(Format::HeaderStream, file, deep, report),
        survey: |_, _, _| Ok(()),
        create: Some(|path, options| {
            Ok(Box::new(headers::HeaderStreamWriter::create(path, options.gzip)?))
        }),
    },
];

/// Block files, which [`blkdat::open()`] reads.
static BLOCK_FILES: Properties = Properties {
    name: "blk",
    article: "",
    noun: "Bitcoin block files",
    family: Family::Bitcoin,
    document: "docs/formats/blkdat.md",
    targets: &[
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
            help: "A datadir that Bitcoin Core opens and goes on from",
            files: Files::Folder(blkdat::is_of_datadir),
            least_block: 0,
            names_network: false,
            output: Output::CoreDatadir,
        },
    ],
};

/// Dumps of Neo, which [`acc::open()`] reads.
static DUMPS: Properties = Properties {
    name: "acc",
    article: "a",
    noun: "Neo block dump",
    family: Family::Neo,
    document: "docs/formats/acc.md",
    targets: &[
        Target {
            name: "acc",
            help: "What `neo-go db dump` writes; incremental with --from",
            files: Files::One,
            least_block: crate::acc::MIN_BLOCK as u64,
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
            help: "A database that neo-go opens and goes on from, of a store of executed blocks",
            files: Files::Folder(blockmill_leveldb::is_own_file),
            least_block: crate::acc::MIN_BLOCK as u64,
            names_network: false,
            output: Output::NeoGoDatabase,
        },
    ],
};

impl Format {
    /// What it is called in records, documents and on the command line.
    pub fn name(self) -> &'static str {
        self.row().properties.name
    }

    pub(crate) fn row(self) -> &'static Row {
        &ARCHIVES[self as usize]
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().properties.noun)
    }
}

/// Every format of every family.
pub fn all() -> impl Iterator<Item = &'static Properties> {
    ARCHIVES.iter().map(|row| &row.properties).chain([&BLOCK_FILES, &DUMPS])
}

/// All formats in a sentence, as in "an era1 file, ... or Bitcoin block files".
pub(crate) fn any_of_them() -> String {
    let names: Vec<_> = all().map(|it| format!("{} {}", it.article, it.noun)).collect();
    let names: Vec<_> = names.iter().map(|name| name.trim_start()).collect();
    names
        .split_last()
        .map_or(String::new(), |(last, others)| format!("{} or {last}", others.join(", ")))
}

/// The one folder of an archive that is a folder.
fn only(files: &[PathBuf]) -> &Path {
    files.first().map_or(Path::new(""), PathBuf::as_path)
}

fn first_and_last(range: Option<(u64, u64)>) -> Range {
    range.map(|(first, last)| (first, Some(last)))
}

/// A stream tells its first block only.
fn first_of_stream(format: Format, file: &Path) -> Result<Range, Error> {
    Ok(stream::first_number(format, file)?.map(|first| (first, None)))
}

#[cfg(test)]
mod tests;
