//! Targets of `convert --to` and `generate --format`: the outputs that this program writes.

use std::path::Path;

use crate::format::Format;
use crate::output::Shape;

/// An output that can be written.
#[derive(Debug)]
pub struct Target {
    /// Name on the command line.
    pub name: &'static str,
    /// Text in the help.
    pub help: &'static str,
    /// The files of the output.
    pub files: Files,
    /// Bytes that a block takes at least, as far as is known.
    pub least_block: u64,
    /// Whether the network must be known, because file names have it.
    pub names_network: bool,
    /// The writer.
    pub output: Output,
}

/// The files of an output. The functions recognise them by their paths in the folder.
#[derive(Clone, Copy, Debug)]
pub enum Files {
    /// One file.
    One,
    /// A folder of its own.
    Folder(fn(&Path) -> bool),
    /// Files in a folder that may have others.
    InFolder(fn(&Path) -> bool),
}

/// The writer of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// [`ArchiveWriter`](crate::ArchiveWriter), with gzip or without.
    Blocks(Format, Gzip),
    /// [`BlockWriter`](crate::blkdat::BlockWriter).
    BlockFiles,
    /// A datadir of Bitcoin Core: block files, undo data and databases.
    CoreDatadir,
    /// [`DumpWriter`](crate::acc::DumpWriter), with gzip or without.
    Dump(Gzip),
    /// A database of neo-go.
    NeoGoDatabase,
    /// The state of an Ethereum store in one file.
    Snapshot,
    /// The state of an Ethereum store in JSON lines.
    StateDump,
}

/// Whether an output is compressed.
pub type Gzip = bool;

impl Target {
    /// What the output may replace if it is written next to other files.
    pub fn shape(&self) -> Shape {
        match self.files {
            Files::One => Shape::File,
            Files::Folder(is_own) => Shape::Folder(is_own),
            Files::InFolder(_) => Shape::FilesIn,
        }
    }

    /// What the output may replace if it has a folder of its own.
    pub fn shape_alone(&self) -> Shape {
        match self.files {
            Files::One => Shape::File,
            Files::Folder(is_own) | Files::InFolder(is_own) => Shape::Folder(is_own),
        }
    }
}
