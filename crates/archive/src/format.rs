//! Names and other properties of each format that need no reader of it.
//!
//! The functions that read and write the formats are in the table of the module `formats`.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::family::Family;
use crate::names;

/// A format that [`Archive`](crate::Archive) reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// e2store files of 8,192 blocks with bodies, receipts and an accumulator.
    Era1,
    /// e2store files of 8,192 blocks of every fork, part after part.
    Ere,
    /// e2store files of the beacon blocks of 8,192 slots, with the execution blocks in them.
    Era,
    /// The store of an Ethereum import of this program.
    Store,
    /// geth's "ancient" folder of append-only tables.
    Freezer,
    /// The output of `geth export`: one RLP list for each block. Plain or compressed.
    RlpExport,
    /// The RLP of headers, one after the other. Plain or compressed.
    HeaderStream,
}

/// The names of a format.
#[derive(Debug)]
pub struct Properties {
    /// Name in records, documents and on the command line.
    pub name: &'static str,
    /// "a" or "an"; empty before a plural.
    article: &'static str,
    /// Name in sentences.
    pub noun: &'static str,
    /// The chains that use the format.
    pub family: Family,
    /// The document that specifies its bytes.
    pub document: &'static str,
    /// The usual endings of its file names. A file with such a name and other content is corrupt.
    pub(crate) endings: &'static [&'static str],
}

/// The formats that [`Archive`](crate::Archive) reads, in the order of [`Format`].
static ARCHIVES: [Properties; 7] = [
    Properties {
        name: "era1",
        article: "an",
        noun: "era1 file",
        family: Family::Ethereum,
        document: "docs/formats/era1.md",
        endings: &[".era1"],
    },
    Properties {
        name: "ere",
        article: "an",
        noun: "ere file",
        family: Family::Ethereum,
        document: "docs/formats/ere.md",
        endings: &[".ere", ".erae"],
    },
    Properties {
        name: "era",
        article: "an",
        noun: "era file",
        family: Family::Ethereum,
        document: "docs/formats/era.md",
        endings: &[".era"],
    },
    Properties {
        name: "store",
        article: "a",
        noun: "store",
        family: Family::Ethereum,
        document: "docs/formats/segment.md",
        endings: &[],
    },
    Properties {
        name: "freezer",
        article: "an",
        noun: "ancient folder",
        family: Family::Ethereum,
        document: "docs/formats/freezer.md",
        endings: &[],
    },
    Properties {
        name: "rlp",
        article: "an",
        noun: "RLP export",
        family: Family::Ethereum,
        document: "docs/formats/rlp-export.md",
        endings: &[".rlp"],
    },
    Properties {
        name: "headers",
        article: "a",
        noun: "header stream",
        family: Family::Ethereum,
        document: "docs/formats/header-stream.md",
        endings: &[],
    },
];

/// Bitcoin block files, which [`blkdat::open()`](crate::blkdat::open()) reads. Their names are not
/// only an ending: see [`names::is_block_file`].
static BLOCK_FILES: Properties = Properties {
    name: "blk",
    article: "",
    noun: "Bitcoin block files",
    family: Family::Bitcoin,
    document: "docs/formats/blkdat.md",
    endings: &[],
};

/// Headers of Bitcoin without blocks, which [`blkdat::open()`](crate::blkdat::open()) reads.
static BITCOIN_HEADERS: Properties = Properties {
    name: "btc-headers",
    article: "",
    noun: "Bitcoin headers",
    family: Family::Bitcoin,
    document: "docs/formats/bitcoin-headers.md",
    endings: &[],
};

/// Neo block dumps, which [`acc::open()`](crate::acc::open()) reads.
static DUMPS: Properties = Properties {
    name: "acc",
    article: "a",
    noun: "Neo block dump",
    family: Family::Neo,
    document: "docs/formats/acc.md",
    endings: &[".acc"],
};

impl Format {
    /// The name in records, documents and on the command line.
    pub fn name(self) -> &'static str {
        ARCHIVES[self as usize].name
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ARCHIVES[*self as usize].noun)
    }
}

/// Every format of every family.
pub fn all() -> impl Iterator<Item = &'static Properties> {
    ARCHIVES.iter().chain([&BLOCK_FILES, &BITCOIN_HEADERS, &DUMPS])
}

/// All formats in a sentence, as in "an era1 file, ... or Bitcoin block files".
pub(crate) fn any_of_them() -> String {
    let names: Vec<_> = all().map(|it| format!("{} {}", it.article, it.noun)).collect();
    let names: Vec<_> = names.iter().map(|name| name.trim_start()).collect();
    names
        .split_last()
        .map_or(String::new(), |(last, others)| format!("{} or {last}", others.join(", ")))
}

/// Whether the file name ends like that of a file which [`Archive`](crate::Archive) reads. Such a
/// file with other content is corrupt; other files in a folder, such as a list of checksums, are
/// no error.
pub(crate) fn claims_to_be_archive(path: &Path) -> bool {
    ends_like(path, &ARCHIVES)
}

/// Whether the file name ends like that of a Neo block dump.
pub(crate) fn claims_to_be_dump(path: &Path) -> bool {
    ends_like(path, std::slice::from_ref(&DUMPS))
}

/// Whether the file name is that of a block file, a dump or an archive.
pub(crate) fn claims_blocks(path: &Path) -> bool {
    names::is_block_file(path) || claims_to_be_dump(path) || claims_to_be_archive(path)
}

fn ends_like(path: &Path, formats: &[Properties]) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let name = names::without_compression(name);
    formats.iter().flat_map(|it| it.endings).any(|ending| name.ends_with(ending.as_bytes()))
}
