//! Finds the records of a block file by their frames. Bodies are inspected only if a frame is in
//! doubt.
//!
//! A record is accepted if the next record, or the end of the file, is where it ends. Otherwise its
//! block is measured by its own counts and lengths. This finds the true end of a block with a wrong
//! size, and rejects a record that begins with a magic by chance. After a rejected record the
//! search continues one byte after its magic, as in Bitcoin Core.

use std::io;

use memchr::memmem;

use super::corruption::{CorruptionKind, FileReport};
use super::extent::{Tiny, block_length};
use super::source::{CHUNK, Source};
use super::{FRAME, HEADER, MAX_BLOCK, MIN_BLOCK, XorKey};

/// A function that is called regularly while files are read; true requests a stop.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// A block in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Offset of the block, after its frame.
    pub offset: u64,
    /// Bytes of the block.
    pub size: u32,
    /// The block's header.
    pub header: [u8; HEADER],
}

/// A scanner of one file.
pub struct Scanner<'a, S> {
    source: S,
    key: XorKey,
    magic: [u8; 4],
    length: u64,
    /// Offset at which the next record is expected.
    at: u64,
    /// End of the last record.
    gap: u64,
    /// End of the last non-zero byte that was searched since the last record.
    content: u64,
    /// The first bytes since the last record, when they are no magic.
    first: [u8; 4],
    /// The first rejected frame since the last record, and its kind.
    doubted: Option<(u64, CorruptionKind)>,
    /// Number of counts and lengths that may still be read to measure blocks. It bounds the time
    /// for a file that was built to resemble many long blocks.
    steps: u64,
    scratch: Vec<u8>,
    report: FileReport,
    stop: Stop<'a>,
}

/// Frame and header of what may be a record.
struct Head {
    bytes: [u8; FRAME as usize + HEADER],
    length: usize,
    zeros: bool,
}

impl Head {
    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header.copy_from_slice(&self.bytes[FRAME as usize..]);
        header
    }

    fn is_whole(&self) -> bool {
        self.length == self.bytes.len()
    }

    fn size(&self) -> u32 {
        u32::from_le_bytes([self.bytes[4], self.bytes[5], self.bytes[6], self.bytes[7]])
    }
}

impl<'a, S: Source> Scanner<'a, S> {
    /// Creates a scanner of a file of `length` bytes whose records begin with `magic`.
    pub fn new(source: S, length: u64, key: XorKey, magic: [u8; 4]) -> Self {
        Self {
            source,
            key,
            magic,
            length,
            at: 0,
            gap: 0,
            content: 0,
            first: [0; 4],
            doubted: None,
            steps: (1 << 20) + length / 16,
            scratch: Vec::new(),
            report: FileReport { bytes: length, ..FileReport::default() },
            stop: &|| false,
        }
    }

    /// Makes the scan end with [`io::ErrorKind::Interrupted`] soon after `stop` returns true.
    #[must_use]
    pub fn stopping(self, stop: Stop<'a>) -> Self {
        Self { stop, ..self }
    }

    fn go_on(&self) -> io::Result<()> {
        if (self.stop)() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    /// Starts at `start`.
    #[must_use]
    pub fn from(self, start: u64) -> Self {
        Self { at: start, gap: start, content: start, ..self }
    }

    /// Returns the next block; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the file cannot be read, and
    /// [`io::ErrorKind::Interrupted`] after a requested stop.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        while self.at < self.length {
            self.go_on()?;
            let head = self.head(self.at)?;
            if !self.begins_record(&head) {
                if self.at == self.gap {
                    self.first.copy_from_slice(&head.bytes[..4]);
                }
                self.at = self.search(self.at)?;
                continue;
            }
            let Some(size) = self.size_of(&head)? else {
                self.content = self.content.max(self.at + 4);
                self.at += 1;
                continue;
            };
            return Ok(Some(self.accept(&head, size)));
        }
        self.close_gap(self.length);
        Ok(None)
    }

    /// Replaces `into` by the bytes of the last record, or of one shortly before it.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the file cannot be read.
    pub fn body(&mut self, record: &Record, into: &mut Vec<u8>) -> io::Result<()> {
        let size = record.size as usize;
        let bytes = self.source.look(record.offset, size)?;
        let bytes = bytes.get(..size).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.clear();
        into.extend_from_slice(bytes);
        self.key.apply(into, record.offset);
        Ok(())
    }

    /// Bytes read from the file.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The report; complete after the last block.
    pub fn into_report(self) -> FileReport {
        self.report
    }

    fn accept(&mut self, head: &Head, size: u32) -> Record {
        let offset = self.at + FRAME;
        let stated = head.size();
        self.close_gap(self.at);
        if size != stated {
            let kind = CorruptionKind::WrongSize { stated, found: size };
            self.report.add(self.at, FRAME + u64::from(size), kind);
        }
        self.source.note_stride(FRAME + u64::from(size));
        self.at = offset + u64::from(size);
        (self.gap, self.content) = (self.at, self.at);
        self.report.records += 1;
        self.report.block_bytes += u64::from(size);
        Record { offset, size, header: head.header() }
    }

    /// Frame and header at `offset`, or what the file has of them.
    fn head(&mut self, offset: u64) -> io::Result<Head> {
        let mut head = Head { bytes: [0; FRAME as usize + HEADER], length: 0, zeros: true };
        let there = self.length.saturating_sub(offset).min(head.bytes.len() as u64) as usize;
        let bytes = self.source.look(offset, there)?;
        head.length = bytes.len().min(there);
        let filled = &mut head.bytes[..head.length];
        filled.copy_from_slice(&bytes[..filled.len()]);
        head.zeros = filled.iter().all(|byte| *byte == 0);
        self.key.apply(filled, offset);
        head.zeros |= filled.iter().all(|byte| *byte == 0);
        Ok(head)
    }

    /// Whether a record begins here. At the end of the file a part of the magic is enough.
    fn begins_record(&self, head: &Head) -> bool {
        let magic = &self.magic[..head.length.min(4)];
        !magic.is_empty() && head.bytes.starts_with(magic)
    }

    /// The size of the block after a frame; `None` if there is no block.
    fn size_of(&mut self, head: &Head) -> io::Result<Option<u32>> {
        if !head.is_whole() {
            self.doubt(CorruptionKind::Truncated { stated: None });
            return Ok(None);
        }
        let stated = head.size();
        let end = self.at + FRAME + u64::from(stated);
        let possible = (MIN_BLOCK..=MAX_BLOCK).contains(&stated);
        let fits = possible && end <= self.length;
        if fits && self.is_end(end, false)? {
            return Ok(Some(stated));
        }
        match self.measure()? {
            Some(found) if fits && found <= stated => return Ok(Some(found)),
            // a size other than stated is accepted only if a record or the end of the file follows
            Some(found) if self.is_end(self.at + FRAME + u64::from(found), true)? => {
                return Ok(Some(found));
            }
            _ if possible && !fits => {
                self.doubt(CorruptionKind::Truncated { stated: Some(stated) })
            }
            _ => self.doubt(CorruptionKind::Broken { stated }),
        }
        Ok(None)
    }

    /// Whether the next record or the end of the file is at `offset`; or, if requested, zeros.
    fn is_end(&mut self, offset: u64, or_zeros: bool) -> io::Result<bool> {
        let next = self.head(offset)?;
        Ok(next.length == 0 || self.begins_record(&next) || (or_zeros && next.zeros))
    }

    fn doubt(&mut self, kind: CorruptionKind) {
        self.doubted.get_or_insert((self.at, kind));
    }

    /// The size of the block in this record by its own counts; `None` if it is no block.
    fn measure(&mut self) -> io::Result<Option<u32>> {
        let block = self.at + FRAME;
        let limit = (self.length - block).min(u64::from(MAX_BLOCK));
        let (source, key) = (&mut self.source, self.key);
        let length = block_length(limit, &mut self.steps, |at| {
            let offset = block + at;
            let mut tiny = Tiny::new(source.look_ahead(offset, 9, CHUNK)?);
            key.apply(tiny.as_mut(), offset);
            Ok::<_, io::Error>(tiny)
        })?;
        Ok(length.and_then(|length| u32::try_from(length).ok()))
    }

    /// Offset of the next magic at or after `from`; the end of the file if there is none. Updates
    /// `content`.
    fn search(&mut self, from: u64) -> io::Result<u64> {
        let finder = memmem::Finder::new(&self.magic);
        let skips_zeros = !self.could_be_zeros();
        let mut at = from;
        while at < self.length {
            self.go_on()?;
            let there = (self.length - at).min(CHUNK as u64) as usize;
            let bytes = self.source.look(at, there)?;
            let bytes = &bytes[..there.min(bytes.len())];
            if bytes.is_empty() {
                break;
            }
            let (zeros, short) = (skips_zeros && is_zero(bytes), bytes.len() < CHUNK);
            let found = if zeros {
                None
            } else {
                self.scratch.clear();
                self.scratch.extend_from_slice(bytes);
                self.key.apply(&mut self.scratch, at);
                let found = finder.find(&self.scratch);
                let before = found.unwrap_or(bytes.len());
                let end = content(&bytes[..before]).min(content(&self.scratch[..before]));
                if end > 0 {
                    self.content = self.content.max(at + end as u64);
                }
                found.map(|i| at + i as u64)
            };
            match found {
                Some(found) => return Ok(found),
                None if short => break,
                // holes need not be read; a magic may cross their border
                None if zeros => {
                    at = self.source.end_of_hole(at + CHUNK as u64, self.length) - 3;
                }
                None => at += CHUNK as u64 - 3,
            }
        }
        Ok(self.length)
    }

    /// Whether the key obfuscates the magic to zeros somewhere in the file.
    fn could_be_zeros(&self) -> bool {
        let key = self.key.0;
        (0..8).any(|start| (0..4).all(|i| key[(start + i) % 8] == self.magic[i]))
    }

    /// Reports the bytes between the last record and `to`.
    fn close_gap(&mut self, to: u64) {
        let doubted = self.doubted.take();
        if self.gap == to {
            return;
        }
        let content = self.content.clamp(self.gap, to);
        let at_end = to == self.length;
        let damaged = if at_end { content } else { to };
        if at_end {
            self.report.zero_tail = to - content;
        }
        if damaged > self.gap {
            let kind = match doubted {
                Some((at, kind)) if at == self.gap => kind,
                _ if content == self.gap => CorruptionKind::Zeros,
                _ => CorruptionKind::Junk(self.first),
            };
            self.report.add(self.gap, damaged - self.gap, kind);
        }
        (self.gap, self.content) = (to, to);
    }
}

/// Whether all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    // whole pieces without a branch inside are compared in vector registers
    bytes.chunks(1024).all(|piece| piece.iter().fold(0, |any, byte| any | byte) == 0)
}

/// Start of the zeros at the end.
fn content(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}
