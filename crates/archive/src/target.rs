//! What `convert --to` and `generate --format` offer; which formats have what stands in their rows
//! ([`crate::format`]).

use std::path::Path;

use crate::format::Format;
use crate::output::Shape;

/// Something that can be written.
#[derive(Debug)]
pub struct Target {
    /// On the command line.
    pub name: &'static str,
    /// In its help.
    pub help: &'static str,
    /// What appears on disk.
    pub files: Files,
    /// Bytes that a block takes at least, as far as is known.
    pub least_block: u64,
    /// Must the network be known, as names of files carry it?
    pub names_network: bool,
    /// What is written.
    pub output: Output,
}

/// What an output consists of; the functions tell its files by their paths in the folder.
#[derive(Clone, Copy, Debug)]
pub enum Files {
    /// One file.
    One,
    /// All of a folder.
    Folder(fn(&Path) -> bool),
    /// Files in a folder that may hold others.
    InFolder(fn(&Path) -> bool),
}

/// What writes a target.
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
}

/// Is an output compressed?
pub type Gzip = bool;

impl Target {
    /// What may be replaced where it is written beside other files.
    pub fn shape(&self) -> Shape {
        match self.files {
            Files::One => Shape::File,
            Files::Folder(is_own) => Shape::Folder(is_own),
            Files::InFolder(_) => Shape::FilesIn,
        }
    }

    /// What may be replaced where a folder is its own.
    pub fn shape_alone(&self) -> Shape {
        match self.files {
            Files::One => Shape::File,
            Files::Folder(is_own) | Files::InFolder(is_own) => Shape::Folder(is_own),
        }
    }
}
