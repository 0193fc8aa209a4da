//! Reads the headers of several files in parallel, and hashes them in batches.

use super::Scan;
use crate::BlockHash;
use crate::header::Header;
use crate::index::Found;
use blockmill_archive::Error;
use blockmill_archive::blkdat::{
    BlockFile, BlockFiles, Corruption, CorruptionKind, FileReport, Positioned, Record, Shape, Stop,
    Walk,
};
use blockmill_hashes::ManySha256;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::live::Live;
use blockmill_platform::input_file::InputFile;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Headers in a batch: enough to fill all SHA-256 lanes, few enough to stay in the cache.
const BATCH: usize = 256;

pub(crate) fn open(file: &BlockFile) -> Result<InputFile, Error> {
    file.open().map_err(|source| io_error(file, "cannot open", source))
}

pub(crate) fn io_error(file: &BlockFile, action: &'static str, source: io::Error) -> Error {
    Error::Io { path: file.path().to_path_buf(), action, source }
}

/// Adds the blocks in the last `bytes` of a record to `more`. Returns the corrupt ranges there.
pub(crate) fn scan_trailing(
    files: &BlockFiles,
    record: &Found,
    bytes: u32,
    more: &mut Vec<Found>,
) -> Result<Vec<Corruption>, Error> {
    let Some(file) = files.files().get(record.file as usize) else { return Ok(vec![]) };
    // a byte is two digits
    let scale = if file.shape() == Shape::Hex { 2 } else { 1 };
    let end = record.offset + scale * u64::from(record.size);
    let start = end - scale * u64::from(bytes);
    let opened = open(file)?;
    let mut walk = Walk::stretch(file, Positioned::new(&opened), start, end);
    let before = more.len();
    while let Some(Record { offset, size, header }) =
        walk.next_record().map_err(|error| io_error(file, "cannot read", error))?
    {
        let hash = Header(&header).hash();
        more.push(Found { hash, header, size, file: record.file, offset });
    }
    if more.len() == before {
        let (offset, length) = (start, end - start);
        return Ok(vec![Corruption {
            offset,
            length,
            kind: CorruptionKind::Broken { stated: bytes },
        }]);
    }
    let FileReport { mut corruption, zero_tail, .. } = walk.into_report();
    for one in &mut corruption {
        if let CorruptionKind::Truncated { stated } = one.kind {
            // it is not the end of the file
            one.kind = CorruptionKind::Broken { stated: stated.unwrap_or(0) };
        }
    }
    if zero_tail > 0 {
        let offset = end - zero_tail;
        corruption.push(Corruption { offset, length: zero_tail, kind: CorruptionKind::Zeros });
    }
    Ok(corruption)
}

/// The error of a scan that was asked to stop.
fn stopped(files: &BlockFiles) -> Error {
    let path = files.files().first().map(|file| file.path().to_path_buf()).unwrap_or_default();
    Error::Io { path, action: "cannot read on", source: io::ErrorKind::Interrupted.into() }
}

/// The result of one file.
#[derive(Default)]
struct FileScan {
    found: Vec<Found>,
    report: FileReport,
    bytes_read: u64,
}

/// Scans all files. Each thread takes the next file when it has finished one.
pub(super) fn scan(files: &BlockFiles, threads: usize, cancel: &Cancel) -> Result<Scan, Error> {
    let stop = || cancel.is_cancelled();
    cancel.live().enter("index", files.bytes());
    let all = files.files();
    let results: Vec<_> = all.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scanner = FileScanner::new(&stop, cancel.live());
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = all.get(index).filter(|_| !stop()) else { break };
            let result = scanner.scan(index as u32, file);
            if let Ok(mut slot) = results[index].lock() {
                *slot = Some(result);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(all.len()) {
            // if the system has no thread left, this thread does the work
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if stop() {
        return Err(stopped(files));
    }
    let mut scan = Scan::default();
    for (result, file) in results.into_iter().zip(all) {
        let mut result = result.into_inner().ok().flatten().unwrap_or_else(|| {
            Err(io_error(file, "cannot read", io::Error::other("the thread that reads it died")))
        })?;
        scan.found.append(&mut result.found);
        scan.reports.push(result.report);
        scan.bytes_read += result.bytes_read;
    }
    Ok(scan)
}

/// Scans one file after another.
struct FileScanner<'s> {
    stop: Stop<'s>,
    live: &'s Live,
    hasher: ManySha256,
    headers: Vec<[u8; 80]>,
    hashes: Vec<[u8; 32]>,
}

impl<'s> FileScanner<'s> {
    fn new(stop: Stop<'s>, live: &'s Live) -> Self {
        let (headers, hashes) = (Vec::with_capacity(BATCH), vec![[0; 32]; BATCH]);
        Self { stop, live, hasher: ManySha256::detect(), headers, hashes }
    }

    fn scan(&mut self, index: u32, file: &BlockFile) -> Result<FileScan, Error> {
        let opened = open(file)?;
        let mut walk = Walk::new(file, Positioned::new(&opened)).stopping(self.stop);
        let (mut result, mut reported) = (FileScan::default(), 0);
        loop {
            let record = walk.next_record();
            let record = record.map_err(|error| io_error(file, "cannot read", error))?;
            if self.headers.len() == BATCH || record.is_none() {
                self.hash(&mut result.found);
                let reached = record.as_ref().map_or(file.length(), |record| record.offset);
                self.live.advance(reached.saturating_sub(reported));
                reported = reached;
            }
            let Some(Record { offset, size, header }) = record else { break };
            self.headers.push(header);
            let hash = BlockHash::default();
            result.found.push(Found { hash, header, size, file: index, offset });
        }
        result.bytes_read = walk.bytes_read();
        result.report = walk.into_report();
        Ok(result)
    }

    /// Hashes the headers of the batch.
    fn hash(&mut self, found: &mut [Found]) {
        let count = self.headers.len();
        self.hasher.sha256d_80(&self.headers, &mut self.hashes[..count]);
        let first = found.len() - count;
        for (found, hash) in found[first..].iter_mut().zip(&self.hashes) {
            found.hash = BlockHash(*hash);
        }
        self.headers.clear();
    }
}
