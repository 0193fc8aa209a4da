//! Blocks read and decoded in the order in which they can be accepted: the baseline of Bitcoin
//! Core's reindex, with and without its improvement (PR 16981).
//!
//! Blocks are in files as they came in, so many precede their parents. Such a block waits in a map
//! by its parent's hash. When the parent is accepted, so are the blocks that wait for it, and those
//! that wait for them.

use super::look_back::LookBack;
use super::source::Opened;
use super::waiting::Waiting;
use super::{BaselineScan, Order, io_error, stopped};
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFiles, BodyReader, Record, Walk};
use blockmill_bitcoin::header::Header;
use blockmill_bitcoin::index::Found;
use blockmill_bitcoin::index::scan::Scan;
use blockmill_bitcoin::types::Block;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::Cancel;

/// Files that are kept open for blocks that are read again.
const OPEN_FILES: usize = 64;

/// Reads and decodes every accepted block of a scan, in their order.
pub(super) fn decode_accepted(
    finder: &mut BaselineScan,
    files: &BlockFiles,
    scan: &mut Scan,
    cancel: &Cancel,
) -> Result<(), Error> {
    let mut decoder = Decoder::new(files);
    for position in &finder.order.accepted {
        let found = &scan.found[*position as usize];
        if cancel.is_cancelled() {
            return Err(stopped(&files.files()[found.file as usize]));
        }
        decoder.decode_from_disk(found);
    }
    finder.counts.from_disk = finder.order.out_of_order;
    decoder.add_counts(finder, scan);
    Ok(())
}

/// One pass over all files as Bitcoin Core does it: blocks are looked up, decoded and accepted one
/// by one, in the order of the files except for those that have to wait.
pub(super) fn load(
    finder: &mut BaselineScan,
    files: &BlockFiles,
    cancel: &Cancel,
) -> Result<Scan, Error> {
    let stop = || cancel.is_cancelled();
    let baseline = finder.baseline;
    let mut load = Load {
        whole_block_first: baseline.whole_block_first,
        scan: Scan::default(),
        order: Order::default(),
        waiting: Waiting::new(&finder.known, 0),
        look_back: LookBack::new(baseline.look_back),
        decoder: Decoder::new(files),
        from_memory: 0,
        from_disk: 0,
    };
    for (index, file) in files.files().iter().enumerate() {
        let opened = Opened::open(file, baseline.read)?;
        let mut walk = Walk::new(file, opened.source()).stopping(&stop);
        let fail = |error| io_error(file, "cannot read", error);
        while let Some(record) = walk.next_record().map_err(fail)? {
            let mut body = |into: &mut Vec<u8>| walk.body(&record, into).map_err(fail);
            load.take(index as u32, &record, &mut body)?;
            if cancel.is_cancelled() {
                return Err(stopped(file));
            }
        }
        load.scan.bytes_read += walk.bytes_read();
        load.scan.reports.push(walk.into_report());
    }
    let Load { mut scan, order, waiting, decoder, from_memory, from_disk, .. } = load;
    let (orphans, out_of_order) = (waiting.left(), from_memory + from_disk);
    finder.order = Order { orphans, out_of_order, ..order };
    (finder.counts.from_memory, finder.counts.from_disk) = (from_memory, from_disk);
    decoder.add_counts(finder, &mut scan);
    Ok(scan)
}

struct Load<'a> {
    whole_block_first: bool,
    scan: Scan,
    order: Order,
    waiting: Waiting,
    look_back: LookBack,
    decoder: Decoder<'a>,
    from_memory: u64,
    from_disk: u64,
}

impl Load<'_> {
    /// Takes the next block of a file; `body` reads it whole.
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
        if self.whole_block_first {
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
        if !self.whole_block_first {
            body(self.decoder.bytes())?;
            self.decoder.decode();
        }
        for at in self.order.release(position, &self.scan.found, &mut self.waiting) {
            self.take_again(self.order.accepted[at]);
        }
        Ok(())
    }

    /// Decodes a block that had to wait.
    fn take_again(&mut self, position: u32) {
        if let Some(bytes) = self.look_back.take(position) {
            self.from_memory += 1;
            let used = self.decoder.decode_these(bytes);
            self.look_back.recycle(used);
            return;
        }
        self.from_disk += 1;
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
            // counted as undecodable; the second pass reports why, if it needs the block
            self.block.raw.clear();
        }
        self.bytes_read += u64::from(found.size);
        self.decode();
    }

    fn add_counts(self, finder: &mut BaselineScan, scan: &mut Scan) {
        finder.counts.decoded += self.decoded;
        finder.counts.undecodable += self.undecodable;
        scan.bytes_read += self.bytes_read;
    }
}
