//! Writes a freezer folder, byte for byte as geth does.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use blockmill_rlp::{Encode, U256};

use super::index::{ENTRY, Entry};
use super::meta::Meta;
use super::table::{ACCESS_LISTS, BODIES, DIFFICULTIES, HASHES, HEADERS, RECEIPTS, Spec};
use crate::difficulty::ChainTotals;
use crate::output::{OutputFolder, sync_folder_of};
use crate::row::WriteBlocks;
use crate::{Chunk, Error, ReceiptEncoding};

/// The size at which geth begins another data file.
pub const MAX_FILE: u32 = 2_000_000_000;

/// Bytes collected for one file before a system call.
const BUFFER: usize = 256 << 10;

/// The layout of a folder, by the version of geth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// geth 1.17: tables in `chain`, metadata of version 2, a table of block access lists.
    #[default]
    Geth117,
    /// geth 1.9: tables in the folder itself, no metadata, a table of total difficulties.
    Geth19,
}

/// Writes a chain from block 0 on into a new folder, which appears under its name when it is
/// complete.
#[derive(Debug)]
pub struct Writer {
    folder: OutputFolder,
    layout: Layout,
    totals: ChainTotals,
    blocks: u64,
    headers: TableWriter,
    hashes: TableWriter,
    bodies: TableWriter,
    receipts: TableWriter,
    /// Block access lists or total difficulties, by the layout.
    extra: TableWriter,
}

impl Writer {
    /// Begins a folder that geth 1.17 opens. `folder` must not exist, or be empty.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        Self::with(folder, Layout::default(), MAX_FILE)
    }

    /// Creates a folder of the given layout, with data files of at most `max_file` bytes (or one
    /// item).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the folder cannot be created, and [`Error::Unwritable`] if it has
    /// content.
    pub fn with(folder: &Path, layout: Layout, max_file: u32) -> Result<Self, Error> {
        let folder = OutputFolder::create(folder)?;
        let (tables, extra) = match layout {
            Layout::Geth117 => (folder.path().join("chain"), ACCESS_LISTS),
            Layout::Geth19 => (folder.path().to_path_buf(), DIFFICULTIES),
        };
        fs::create_dir_all(&tables).map_err(Error::io("cannot create", &tables))?;
        let table = |spec| TableWriter::create(&tables, spec, max_file);
        Ok(Self {
            headers: table(HEADERS)?,
            hashes: table(HASHES)?,
            bodies: table(BODIES)?,
            receipts: table(RECEIPTS)?,
            extra: table(extra)?,
            folder,
            layout,
            totals: ChainTotals::default(),
            blocks: 0,
        })
    }

    /// Appends blocks that follow the blocks written before, from block 0. Receipts must be in
    /// storage encoding. A chain may lack bodies or receipts altogether: their table then stays
    /// empty (geth 1.17 opens such a folder, and drops bodies that have no receipts).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if a part is missing or a block does not follow, and
    /// [`Error::Io`] if a file cannot be written.
    pub fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let blocks = chunk.blocks();
        for (what, given, table) in [
            ("bodies", chunk.bodies.len(), &self.bodies),
            ("receipts", chunk.receipts.len(), &self.receipts),
        ] {
            let as_before = table.items == self.blocks || given == 0;
            let fits = given == blocks || given == 0 && table.items == 0;
            if !fits || !as_before {
                let expected = format!("{what} of every block, or of none");
                return Err(self.unwritable(expected, format!("{given} for {blocks} headers")));
            }
        }
        if !chunk.receipts.is_empty() && chunk.receipt_encoding != ReceiptEncoding::Storage {
            let found = format!("{:?} encoding", chunk.receipt_encoding);
            return Err(self.unwritable("receipts in storage encoding".into(), found));
        }
        (0..blocks).try_for_each(|i| self.append_block(chunk, i))
    }

    fn append_block(&mut self, chunk: &Chunk, i: usize) -> Result<(), Error> {
        let number = self.totals.follow(self.folder.target(), chunk, i)?;
        if number != self.blocks {
            let expected = format!("block {}, since an ancient folder begins at 0", self.blocks);
            return Err(self.unwritable(expected, format!("block {number}")));
        }
        let header = chunk.headers.get(i);
        self.headers.append(header)?;
        self.hashes.append(&blockmill_rlp::ethereum::block_hash(header))?;
        if !chunk.bodies.is_empty() {
            self.bodies.append(chunk.bodies.get(i))?;
        }
        if !chunk.receipts.is_empty() {
            self.receipts.append(chunk.receipts.get(i))?;
        }
        match self.layout {
            Layout::Geth117 => self.extra.append(chunk.access_list(i))?,
            Layout::Geth19 if !chunk.access_list(i).is_empty() => {
                let expected = "no block access lists, which geth 1.9 does not know".into();
                return Err(self.unwritable(expected, format!("one of block {number}")));
            }
            Layout::Geth19 => {
                let total = self.totals.total(self.folder.target())?;
                self.extra.append(&U256::from_be_bytes(total).encode())?;
            }
        }
        self.blocks += 1;
        Ok(())
    }

    fn unwritable(&self, expected: String, found: String) -> Error {
        Error::Unwritable { path: self.folder.target().to_path_buf(), expected, found }
    }

    /// Makes every file durable and gives the folder its name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if there was no block, and [`Error::Io`] if a file cannot be
    /// written or renamed.
    pub fn finish(mut self) -> Result<(), Error> {
        let with_meta = self.layout == Layout::Geth117;
        let tables = [&mut self.headers, &mut self.hashes, &mut self.bodies, &mut self.receipts];
        for table in tables.into_iter().chain([&mut self.extra]) {
            table.finish(with_meta)?;
        }
        sync_folder_of(&self.headers.index.path)?;
        self.folder.finish()
    }
}

impl WriteBlocks for Writer {
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.append(chunk)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        (*self).finish()
    }
}

/// One table under construction.
#[derive(Debug)]
struct TableWriter {
    spec: Spec,
    folder: PathBuf,
    max_file: u32,
    index: Output,
    data: Output,
    /// The data file, and how far it is filled.
    head: Entry,
    items: u64,
    encoder: snap::raw::Encoder,
    block: Vec<u8>,
}

impl TableWriter {
    fn create(folder: &Path, spec: Spec, max_file: u32) -> Result<Self, Error> {
        let mut index = Output::create(folder.join(spec.index_name()))?;
        index.write(&Entry::default().to_bytes())?;
        Ok(Self {
            spec,
            folder: folder.to_path_buf(),
            max_file,
            index,
            data: Output::create(folder.join(spec.data_name(0)))?,
            head: Entry::default(),
            items: 0,
            encoder: snap::raw::Encoder::new(),
            block: vec![],
        })
    }

    fn append(&mut self, item: &[u8]) -> Result<(), Error> {
        if !self.spec.compressed {
            return self.append_packed(item);
        }
        let mut block = std::mem::take(&mut self.block);
        let most = snap::raw::max_compress_len(item.len());
        if block.len() < most {
            block.resize(most, 0);
        }
        let result = match self.encoder.compress(item, &mut block) {
            Ok(len) => self.append_packed(&block[..len]),
            Err(error) => Err(self.unwritable("an item below 4 GiB", error.to_string())),
        };
        self.block = block;
        result
    }

    /// Appends the stored bytes of one item, in the next file if they do not fit.
    fn append_packed(&mut self, item: &[u8]) -> Result<(), Error> {
        let end = u64::from(self.head.end) + item.len() as u64;
        if end > u64::from(self.max_file) && self.head.end > 0 {
            let Some(file) = self.head.file.checked_add(1) else {
                return Err(self.unwritable("at most 65536 data files", "more".into()));
            };
            let path = self.folder.join(self.spec.data_name(file));
            std::mem::replace(&mut self.data, Output::create(path)?).finish()?;
            self.head = Entry { file, end: 0 };
        }
        let Ok(len) = u32::try_from(item.len()) else {
            return Err(self.unwritable("an item below 4 GiB", format!("{} bytes", item.len())));
        };
        self.data.write(item)?;
        self.head.end += len;
        self.index.write(&self.head.to_bytes())?;
        self.items += 1;
        Ok(())
    }

    fn finish(&mut self, with_meta: bool) -> Result<(), Error> {
        self.data.finish()?;
        self.index.finish()?;
        if with_meta {
            let mut meta = Output::create(self.folder.join(self.spec.meta_name()))?;
            meta.write(&Meta::whole_table((self.items + 1) * ENTRY as u64))?;
            meta.finish()?;
        }
        Ok(())
    }

    fn unwritable(&self, expected: &str, found: String) -> Error {
        Error::Unwritable { path: self.data.path.clone(), expected: expected.into(), found }
    }
}

/// A new file that knows its path.
#[derive(Debug)]
struct Output {
    writer: BufWriter<File>,
    path: PathBuf,
}

impl Output {
    fn create(path: PathBuf) -> Result<Self, Error> {
        let file = File::create(&path).map_err(Error::io("cannot create", &path))?;
        Ok(Self { writer: BufWriter::with_capacity(BUFFER, file), path })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.writer.write_all(bytes).map_err(Error::io("cannot write", &self.path))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.writer
            .flush()
            .and_then(|()| self.writer.get_ref().sync_all())
            .map_err(Error::io("cannot write", &self.path))
    }
}
