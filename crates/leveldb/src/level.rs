//! The tables of a level, one after the other.

use super::block::BlockReader;
use super::table::{BLOCK_TAIL, FOOTER_BYTES, read_block, read_footer};
use super::{Error, Handle, KEY_TAIL, Malformed, TableFile, table_path};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Tables that do not overlap, sorted.
#[derive(Debug)]
pub(crate) struct Level {
    folder: PathBuf,
    tables: VecDeque<TableFile>,
    open: Option<Box<Table>>,
}

impl Level {
    pub(crate) fn new(folder: &Path, tables: VecDeque<TableFile>) -> Self {
        Level { folder: folder.to_path_buf(), tables, open: None }
    }

    /// Moves to the next entry; `false` after the last one.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if let Some(table) = &mut self.open
                && table.advance()?
            {
                return Ok(true);
            }
            let Some(next) = self.tables.pop_front() else { return Ok(false) };
            self.open = Some(Box::new(Table::open(&self.folder, next.number)?));
        }
    }

    /// The entry's key, with its tail.
    pub(crate) fn key(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |table| table.block.key())
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |table| table.block.value())
    }
}

/// An open table.
#[derive(Debug)]
struct Table {
    path: PathBuf,
    file: BufReader<File>,
    /// Offset of the next block.
    at: u64,
    bytes: u64,
    index: BlockReader,
    block: BlockReader,
    /// Offset of the block.
    offset: u64,
}

impl Table {
    fn open(folder: &Path, number: u64) -> Result<Self, Error> {
        let path = table_path(folder, number)?;
        let file = File::open(&path).map_err(Error::io(&path, "cannot open"))?;
        let bytes = file.metadata().map_err(Error::io(&path, "cannot ask for the size of"))?.len();
        let (index, block) = (BlockReader::default(), BlockReader::default());
        let file = BufReader::with_capacity(1 << 18, file);
        let mut table = Table { path, file, at: 0, bytes, index, block, offset: 0 };
        let index = table.read_footer()?;
        table.index = table.read(index)?;
        Ok(table)
    }

    fn read_footer(&mut self) -> Result<Handle, Error> {
        let (needed, available) = (FOOTER_BYTES as u64, self.bytes);
        let truncated = Malformed::Truncated { what: "the footer of a table", needed, available };
        let offset = available.checked_sub(needed).ok_or(truncated);
        let offset = offset.map_err(Error::at(&self.path, 0))?;
        let mut footer = [0; FOOTER_BYTES];
        self.read_at(offset, &mut footer)?;
        read_footer(&footer).map_err(Error::at(&self.path, offset))
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        if offset != self.at {
            let from = SeekFrom::Start(offset);
            self.file.seek(from).map_err(Error::io(&self.path, "cannot read"))?;
        }
        self.file.read_exact(into).map_err(Error::io(&self.path, "cannot read"))?;
        self.at = offset + into.len() as u64;
        Ok(())
    }

    /// Reads and checks a block.
    fn read(&mut self, handle: Handle) -> Result<BlockReader, Error> {
        let needed = handle.size.saturating_add(BLOCK_TAIL as u64);
        let available = self.bytes.saturating_sub(handle.offset);
        if needed > available {
            let source = Malformed::Truncated { what: "a block", needed, available };
            return Err(Error::at(&self.path, handle.offset)(source));
        }
        let mut bytes = vec![0; needed as usize];
        self.read_at(handle.offset, &mut bytes)?;
        read_block(bytes).map_err(Error::at(&self.path, handle.offset))
    }

    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if self.block.advance().map_err(Error::at(&self.path, self.offset))? {
                let (needed, available) = (KEY_TAIL as u64, self.block.key().len() as u64);
                if available < needed {
                    let source = Malformed::Truncated { what: "a key", needed, available };
                    return Err(Error::at(&self.path, self.offset)(source));
                }
                return Ok(true);
            }
            if !self.index.advance().map_err(Error::at(&self.path, self.bytes))? {
                return Ok(false);
            }
            let handle = Handle::read(&mut self.index.value());
            let handle = handle.map_err(Error::at(&self.path, self.bytes))?;
            self.block = self.read(handle)?;
            self.offset = handle.offset;
        }
    }
}
