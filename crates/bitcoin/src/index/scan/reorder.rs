//! Blocks in the order in which they can be accepted, parents first: the design of Bitcoin Core's
//! reindex, with and without its improvement (PR 16981).
//!
//! Blocks stand in files as they came in, so many stand before their parents. Such a block waits
//! in a map by its parent's hash. As soon as the parent is accepted, so are the blocks that wait
//! for it, and those that wait for them: with a list, not by recursion, as a whole chain may wait.

mod look_back;
mod waiting;

use crate::BlockHash;
use crate::header::Header;
use crate::index::Found;
use crate::index::scan::Scan;
use crate::index::scan::files::{Opened, io_error, stopped};
use crate::option_table::Plan;
use crate::types::Block;
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFiles, BodyReader, Record, Walk};
use blockmill_hashes::ManySha256;
use blockmill_pipeline::Cancel;
use look_back::LookBack;
use std::ops::Range;
use waiting::Waiting;

/// Files that are kept open for blocks that are read again.
const OPEN_FILES: usize = 64;

/// Fills in `accepted`, `orphans` and the number of blocks out of order from what was found.
pub(crate) fn order(scan: &mut Scan, known: &[BlockHash]) {
    let mut waiting = Waiting::new(known, scan.found.len());
    scan.accepted.reserve(scan.found.len());
    for position in 0..scan.found.len() as u32 {
        let parent = scan.found[position as usize].header().previous();
        if waiting.is_accepted(&parent) {
            let released = release(position, &scan.found, &mut waiting, &mut scan.accepted);
            scan.counts.out_of_order += released.len() as u64;
        } else {
            waiting.wait(position, &parent);
        }
    }
    scan.orphans = waiting.left();
}

/// Accepts the block at `position` and all that wait for it, or for one of those. Returns where
/// the latter stand in `accepted`.
fn release(
    position: u32,
    found: &[Found],
    waiting: &mut Waiting,
    accepted: &mut Vec<u32>,
) -> Range<usize> {
    let first = accepted.len();
    accepted.push(position);
    let mut next = first;
    while let Some(position) = accepted.get(next) {
        let mut child = waiting.accept(&found[*position as usize].hash);
        while let Some(position) = child {
            accepted.push(position);
            child = waiting.after(position);
        }
        next += 1;
    }
    first + 1..next
}

/// Reads and decodes every accepted block, in their order.
pub(crate) fn decode_accepted(
    files: &BlockFiles,
    scan: &mut Scan,
    cancel: &Cancel,
) -> Result<(), Error> {
    let mut decoder = Decoder::new(files);
    for position in &scan.accepted {
        if cancel.is_cancelled() {
            return Err(stopped(files));
        }
        decoder.decode_from_disk(&scan.found[*position as usize]);
    }
    scan.counts.from_disk = scan.counts.out_of_order;
    decoder.add_counts(scan);
    Ok(())
}

/// One pass over all files as Bitcoin Core makes it: blocks are looked up, decoded and accepted
/// one by one, in the order of the files but for those that have to wait.
pub(crate) fn load(
    files: &BlockFiles,
    known: &[BlockHash],
    plan: &Plan,
    cancel: &Cancel,
) -> Result<Scan, Error> {
    let stop = || cancel.is_cancelled();
    let mut load = Load {
        plan,
        scan: Scan::default(),
        waiting: Waiting::new(known, 0),
        look_back: LookBack::new(plan.look_back),
        decoder: Decoder::new(files),
    };
    for (index, file) in files.files().iter().enumerate() {
        let opened = Opened::open(file, plan.read)?;
        let mut walk = Walk::new(file, opened.source()).stopping(&stop);
        let fail = |error| io_error(file, "cannot read", error);
        while let Some(record) = walk.next_record().map_err(fail)? {
            let mut body = |into: &mut Vec<u8>| walk.body(&record, into).map_err(fail);
            load.take(index as u32, &record, &mut body)?;
            if cancel.is_cancelled() {
                return Err(stopped(files));
            }
        }
        load.scan.counts.bytes_read += walk.bytes_read();
        load.scan.reports.push(walk.into_report());
    }
    let Load { mut scan, waiting, decoder, .. } = load;
    scan.orphans = waiting.left();
    scan.counts.out_of_order = scan.counts.from_memory + scan.counts.from_disk;
    decoder.add_counts(&mut scan);
    Ok(scan)
}

struct Load<'a> {
    plan: &'a Plan,
    scan: Scan,
    waiting: Waiting,
    look_back: LookBack,
    decoder: Decoder<'a>,
}

impl Load<'_> {
    /// The next block of a file; `body` reads it whole.
    fn take(
        &mut self,
        file: u32,
        record: &Record,
        body: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Record { offset, size, header } = *record;
        let position = self.scan.found.len() as u32;
        let found = Found { hash: Header(&header).hash(), header, size, file, offset };
        self.scan.found.push(found);
        self.look_back.pass(size);
        if self.plan.whole_block_first {
            body(self.decoder.bytes())?;
            self.decoder.decode();
        }
        let parent = found.header().previous();
        if !self.waiting.is_accepted(&parent) {
            self.waiting.wait(position, &parent);
            if !self.look_back.is_off() {
                let mut bytes = self.look_back.buffer();
                body(&mut bytes)?;
                self.look_back.keep(position, bytes);
            }
            return Ok(());
        }
        if !self.plan.whole_block_first {
            body(self.decoder.bytes())?;
            self.decoder.decode();
        }
        let accepted = &mut self.scan.accepted;
        for at in release(position, &self.scan.found, &mut self.waiting, accepted) {
            self.take_again(self.scan.accepted[at]);
        }
        Ok(())
    }

    /// Decodes a block that had to wait.
    fn take_again(&mut self, position: u32) {
        if let Some(bytes) = self.look_back.take(position) {
            self.scan.counts.from_memory += 1;
            let used = self.decoder.decode_these(bytes);
            self.look_back.recycle(used);
            return;
        }
        self.scan.counts.from_disk += 1;
        self.decoder.decode_from_disk(&self.scan.found[position as usize]);
    }
}

/// Decodes blocks and counts them.
struct Decoder<'a> {
    reader: BodyReader<'a>,
    hasher: ManySha256,
    block: Block,
    decoded: u64,
    undecodable: u64,
    bytes_read: u64,
}

impl<'a> Decoder<'a> {
    fn new(files: &'a BlockFiles) -> Self {
        Self {
            reader: BodyReader::new(files, OPEN_FILES),
            hasher: ManySha256::detect(),
            block: Block::default(),
            decoded: 0,
            undecodable: 0,
            bytes_read: 0,
        }
    }

    /// Where the next block's bytes belong.
    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.block.raw
    }

    fn decode(&mut self) {
        self.decoded += 1;
        self.undecodable += u64::from(self.block.decode_record(&self.hasher).is_err());
    }

    /// Decodes `bytes`; returns a buffer for others.
    fn decode_these(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let used = std::mem::replace(&mut self.block.raw, bytes);
        self.decode();
        used
    }

    fn decode_from_disk(&mut self, found: &Found) {
        if self.reader.read(found.location(), &mut self.block.raw).is_err() {
            // counted as undecodable; pass 2 says why, should it want the block
            self.block.raw.clear();
        }
        self.bytes_read += u64::from(found.size);
        self.decode();
    }

    fn add_counts(self, scan: &mut Scan) {
        scan.counts.decoded += self.decoded;
        scan.counts.undecodable += self.undecodable;
        scan.counts.bytes_read += self.bytes_read;
    }
}
