//! Writes ere files, byte for byte as go-ethereum does. Sections of a file follow each other, so
//! bodies and receipts wait in temporary files until the last header is written.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::name::file_name;
use crate::difficulty::ChainTotals;
use crate::formats::e2store::accumulator::{Accumulator, ERA_BLOCKS};
use crate::formats::e2store::framing::FrameEncoder;
use crate::formats::e2store::write::{EraFile, EraWriter, RecordWriter, put_framed};
use crate::formats::e2store::{
    ACCUMULATOR, COMPRESSED_BODY, COMPRESSED_HEADER, DYNAMIC_INDEX, SLIM_RECEIPTS,
    TOTAL_DIFFICULTY, VERSION,
};
use crate::{Chunk, Error, ReceiptEncoding};

/// Bytes of records that are collected before they are written to a temporary file, and copied at
/// once from it.
const PIECE: usize = 256 << 10;

/// A writer of ere files without proofs. A file has receipts if they are known of all its blocks.
pub(crate) type Writer = EraWriter<EreFile>;

/// One file under construction.
#[derive(Debug)]
pub(crate) struct EreFile {
    records: RecordWriter,
    first: u64,
    headers: Vec<u64>,
    bodies: Spool,
    /// `None` from the first block on of which they are not known.
    receipts: Option<Spool>,
    /// Total difficulty after each block, little-endian; `None` if it is not known.
    totals: Vec<Option<[u8; 32]>>,
    /// Over the blocks before the merge.
    accumulator: Accumulator,
    last: [u8; 32],
}

impl EraFile for EreFile {
    const ENDING: &'static str = ".ere";
    const RECEIPTS: ReceiptEncoding = ReceiptEncoding::Slim;
    const RECEIPTS_OPTIONAL: bool = true;

    fn create(path: &Path, first: u64) -> Result<Self, Error> {
        let mut records = RecordWriter::create(path)?;
        records.push(VERSION, &[]);
        let folder = path.parent().unwrap_or(Path::new("."));
        Ok(Self {
            records,
            first,
            headers: vec![],
            bodies: Spool::create(folder)?,
            receipts: Some(Spool::create(folder)?),
            totals: vec![],
            accumulator: Accumulator::default(),
            last: [0; 32],
        })
    }

    fn append(
        &mut self,
        frames: &mut FrameEncoder,
        chunk: &Chunk,
        i: usize,
        totals: &ChainTotals,
    ) -> Result<(), Error> {
        let header = chunk.headers.get(i);
        self.headers.push(self.records.offset());
        self.records.push_framed(frames, COMPRESSED_HEADER, header);
        self.records.flush()?;
        let path = self.records.path();
        self.bodies.push(path, frames, COMPRESSED_BODY, chunk.bodies.get(i))?;
        match &mut self.receipts {
            Some(receipts) if !chunk.receipts.is_empty() => {
                receipts.push(path, frames, SLIM_RECEIPTS, chunk.receipts.get(i))?;
            }
            unknown => *unknown = None,
        }
        self.last = blockmill_rlp::ethereum::block_hash(header);
        let mut total = match totals.has_work() {
            true => Some(totals.total(path)?),
            false => totals.total(path).ok(),
        };
        if let (true, Some(total)) = (totals.has_work(), &total) {
            // The caller ends a file at each multiple of 8,192, so it never has more blocks.
            self.accumulator.push(&self.last, total);
        }
        total.iter_mut().for_each(|total| total.reverse());
        self.totals.push(total);
        Ok(())
    }

    fn first(&self) -> u64 {
        self.first
    }

    /// Writes the other sections, the accumulator and the block index and renames the file.
    fn finish(mut self, folder: &Path, network: &str) -> Result<(), Error> {
        let mut parts = vec![std::mem::take(&mut self.headers)];
        parts.push(self.bodies.copy_into(&mut self.records)?);
        let has_receipts = self.receipts.is_some();
        if let Some(receipts) = self.receipts.take() {
            parts.push(receipts.copy_into(&mut self.records)?);
        }
        if self.accumulator.count() > 0 {
            let mut offsets = vec![];
            for total in &self.totals {
                offsets.push(self.records.offset());
                // known, as this file or an earlier one has a block with a known total
                self.records.push(TOTAL_DIFFICULTY, &total.unwrap_or_default());
            }
            parts.push(offsets);
            self.records.push(ACCUMULATOR, &self.accumulator.root());
        }
        let index_at = self.records.offset();
        let mut index = self.first.to_le_bytes().to_vec();
        for block in 0..parts[0].len() {
            for offsets in &parts {
                index.extend(offsets[block].wrapping_sub(index_at).to_le_bytes());
            }
        }
        index.extend((parts.len() as u64).to_le_bytes());
        index.extend((parts[0].len() as u64).to_le_bytes());
        self.records.push(DYNAMIC_INDEX, &index);
        let era = self.first / ERA_BLOCKS as u64;
        self.records.finish(&folder.join(file_name(network, era, &self.last, has_receipts)))
    }
}

/// Records of a section that wait in a temporary file without a name.
#[derive(Debug)]
struct Spool {
    file: File,
    /// Records that are not written yet.
    buffer: Vec<u8>,
    /// Bytes of each record.
    lens: Vec<u64>,
}

impl Spool {
    fn create(folder: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(folder);
        let file = file.map_err(Error::io("cannot create a temporary file in", folder))?;
        Ok(Self { file, buffer: vec![], lens: vec![] })
    }

    /// Appends a record with `data` as a framed Snappy stream. `path` is that of the output.
    fn push(
        &mut self,
        path: &Path,
        frames: &mut FrameEncoder,
        kind: u16,
        data: &[u8],
    ) -> Result<(), Error> {
        let before = self.buffer.len();
        put_framed(&mut self.buffer, frames, kind, data);
        self.lens.push((self.buffer.len() - before) as u64);
        if self.buffer.len() < PIECE {
            return Ok(());
        }
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(Error::io("cannot write a temporary file for", path))
    }

    /// Appends the records to `records`. Returns the offset of each.
    fn copy_into(mut self, records: &mut RecordWriter) -> Result<Vec<u64>, Error> {
        let mut at = records.offset();
        let offset = |len: &u64| {
            let start = at;
            at += len;
            start
        };
        let offsets = self.lens.iter().map(offset).collect();
        let path = records.path().to_path_buf();
        let failed = |error| Error::io("cannot read a temporary file for", &path)(error);
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut piece = vec![0; PIECE];
        loop {
            match self.file.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => records.write(&piece[..count])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        records.write(&self.buffer)?;
        Ok(offsets)
    }
}
