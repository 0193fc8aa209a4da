//! Shares block files with the source instead of copying them. Core only appends to the last block
//! file, and never changes another, so all except the last can be shared.

use super::block_index::FileEntry;
use super::write::{BlocksWriter, FRAME_BYTES, Growing};
use super::{Error, XorKey};
use blockmill_platform::links::{self, Shared};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes read from a block: frame, header, and the number of transactions.
const HEAD_BYTES: usize = 8 + 80 + 9;

/// A block file that is shared with the source.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    key: XorKey,
    number: u32,
}

/// The position of a block in a shared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPosition {
    /// Its height.
    pub height: u32,
    /// Its offset, after magic and size.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
}

impl BlocksWriter {
    /// Shares a block file of another datadir with the same key, if the system can. `None`
    /// otherwise. Written block files follow the shared ones.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if the file cannot be read.
    pub fn share(&mut self, source: &Path, key: XorKey) -> Result<Option<SharedFile>, Error> {
        let file = File::open(source).map_err(Error::io(source, "cannot open"))?;
        let number = self.files.len() as u32;
        match links::share(source, &self.path("blk", number)) {
            Ok(Shared::Blocks) => self.shared.reflinks += 1,
            Ok(Shared::File) => self.shared.hard_links += 1,
            // another file system, or one without links: the caller copies instead
            Err(_) => return Ok(None),
        }
        self.files.push(FileEntry::default());
        Ok(Some(SharedFile { file, key, number }))
    }

    /// Starts the undo file of a shared file.
    pub fn begin_shared(&mut self, shared: &SharedFile) -> Result<(), Error> {
        self.end_file()?;
        let (number, blocks) = (shared.number, None);
        self.open = Some(Growing { number, blocks, undo: self.begin("rev", number)? });
        Ok(())
    }

    /// Adds a block of the current shared file; see [`BlocksWriter::block`]. Returns false if Core
    /// would not write the record like this: then it must be copied.
    pub fn shared_block(
        &mut self,
        shared: &SharedFile,
        block: BlockPosition,
        undo: Option<&[u8]>,
    ) -> Result<bool, Error> {
        let BlockPosition { height, offset, size } = block;
        let Some(start) = u64::from(offset).checked_sub(FRAME_BYTES) else { return Ok(false) };
        let mut head = [0; HEAD_BYTES];
        let wanted = HEAD_BYTES.min(size as usize + FRAME_BYTES as usize);
        let path = self.path("blk", shared.number);
        let head = &mut head[..wanted];
        match shared.file.read_exact_at(head, start) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read.map_err(Error::io(&path, "cannot read"))?,
        }
        shared.key.apply(head, start);
        let Some((frame, head)) = head.split_first_chunk::<{ FRAME_BYTES as usize }>() else {
            return Ok(false);
        };
        let [m0, m1, m2, m3, stated @ ..] = *frame;
        if [m0, m1, m2, m3] != self.magic || u32::from_le_bytes(stated) != size {
            return Ok(false);
        }
        let (header, transactions) = self.check(height, size.into(), head, undo)?;
        self.enter(height, &header, transactions, offset, undo)?;
        if let Some(file) = self.files.get_mut(shared.number as usize) {
            let before = file.data_bytes;
            file.data_bytes = before.max(offset + size);
            self.shared.bytes += u64::from(file.data_bytes - before);
        }
        Ok(true)
    }
}
