//! Headers of all files by any [`Baseline`](super::Baseline), one file after the other or several
//! at once, hashed in batches as the product does it.

use super::source::Opened;
use super::{Baseline, BaselineScan, Counts, io_error, stopped};
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFile, BlockFiles, FileReport, Record, Source, Stop, Walk};
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::index::Found;
use blockmill_bitcoin::index::scan::Scan;
use blockmill_bitcoin::types::Block;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::Cancel;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Headers that are hashed at once, as many as the product hashes.
const BATCH: usize = 256;

/// The blocks of one file.
#[derive(Default)]
struct OfFile {
    found: Vec<Found>,
    report: FileReport,
    bytes_read: u64,
    counts: Counts,
}

/// Scans all files; each thread takes the next file as soon as it is done with one.
pub(super) fn scan(
    finder: &mut BaselineScan,
    files: &BlockFiles,
    cancel: &Cancel,
) -> Result<Scan, Error> {
    let stop = || cancel.is_cancelled();
    let (all, baseline) = (files.files(), finder.baseline);
    let threads = if baseline.parallel { finder.threads } else { 1 };
    let results: Vec<_> = all.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scanner = FileScanner::new(baseline, &stop);
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
            scope.spawn(work);
        }
        work();
    });
    let mut scan = Scan::default();
    for (result, file) in results.into_iter().zip(all) {
        let mut result = result.into_inner().ok().flatten().unwrap_or_else(|| {
            if stop() {
                return Err(stopped(file));
            }
            Err(io_error(file, "cannot read", io::Error::other("the thread that reads it died")))
        })?;
        scan.found.append(&mut result.found);
        scan.reports.push(result.report);
        scan.bytes_read += result.bytes_read;
        finder.counts.decoded += result.counts.decoded;
        finder.counts.undecodable += result.counts.undecodable;
    }
    Ok(scan)
}

/// Scans files, one after the other.
struct FileScanner<'s> {
    baseline: Baseline,
    stop: Stop<'s>,
    hasher: ManySha256,
    block: Block,
    headers: Vec<[u8; 80]>,
    hashes: Vec<[u8; 32]>,
}

impl<'s> FileScanner<'s> {
    fn new(baseline: Baseline, stop: Stop<'s>) -> Self {
        let (headers, hashes) = (Vec::with_capacity(BATCH), vec![[0; 32]; BATCH]);
        let (hasher, block) = (ManySha256::detect(), Block::default());
        Self { baseline, stop, hasher, block, headers, hashes }
    }

    fn scan(&mut self, index: u32, file: &BlockFile) -> Result<OfFile, Error> {
        let opened = Opened::open(file, self.baseline.read)?;
        let mut walk = Walk::new(file, opened.source()).stopping(self.stop);
        let mut result = OfFile::default();
        loop {
            let record = walk.next_record();
            let record = record.map_err(|error| io_error(file, "cannot read", error))?;
            if self.headers.len() == BATCH || record.is_none() {
                self.hash(&mut result.found);
            }
            let Some(record) = record else { break };
            if self.baseline.whole_block_first {
                self.decode(&mut walk, &record, &mut result, file)?;
            }
            let Record { offset, size, header } = record;
            self.headers.push(header);
            let hash = BlockHash::default();
            result.found.push(Found { hash, header, size, file: index, offset });
        }
        result.bytes_read = walk.bytes_read();
        result.report = walk.into_report();
        Ok(result)
    }

    /// Hashes the last headers.
    fn hash(&mut self, found: &mut [Found]) {
        let count = self.headers.len();
        self.hasher.sha256d_80(&self.headers, &mut self.hashes[..count]);
        let first = found.len() - count;
        for (found, hash) in found[first..].iter_mut().zip(&self.hashes) {
            found.hash = BlockHash(*hash);
        }
        self.headers.clear();
    }

    fn decode(
        &mut self,
        walk: &mut Walk<'_, impl Source>,
        record: &Record,
        result: &mut OfFile,
        file: &BlockFile,
    ) -> Result<(), Error> {
        let body = walk.body(record, &mut self.block.raw);
        body.map_err(|error| io_error(file, "cannot read", error))?;
        result.counts.decoded += 1;
        result.counts.undecodable += u64::from(self.block.decode_record(&self.hasher).is_err());
        Ok(())
    }
}
