//! The bodies of a unit, by its table.

use super::documents::{Bodies, Looked, Row, Table, Told};
use super::hidden;
use crate::body;
use crate::body::reader::BlockReader;
use crate::execute::Place;
use crate::fault::{Cause, Error, Fault};
use crate::index::Found;
use crate::options::Options;
use crate::params::Rules;
use crate::types::{Block, hash_blocks};
use archive::blkdat::BlockFiles;
use crypto::ManySha256;
use pipeline::{Flow, Stages};

/// Files that the reading thread keeps open.
const OPEN_FILES: usize = 16;
/// Bytes of blocks after which a batch is full, and blocks.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_BLOCKS: usize = 512;

/// Some rows of the table on their way.
struct Batch {
    rows: Vec<(Row, Found)>,
    blocks: Vec<Block>,
    /// What is wrong with each.
    causes: Vec<Option<Cause>>,
    /// Bytes behind each in its record.
    spare: Vec<u32>,
    bodies: body::Bodies,
}

/// Verifies the blocks of `table`, which is that of the unit of `files`.
///
/// # Errors
/// The run was asked to stop. What is wrong with a block stands in the answer.
pub fn bodies(files: &BlockFiles, table: &Table, options: &Options) -> Result<Bodies, Error> {
    let mut answer = Bodies::default();
    let of_row = |row: &Row| (*row, row.record.found(row.record.file));
    let rows: Vec<_> = table.rows.iter().map(of_row).collect();
    let hasher = ManySha256::detect();
    let threads = if options.setting.plan().overlapped { options.threads.max(1) } else { 0 };
    let batches = (0..pipeline::buffers(threads)).map(|_| Batch::new(hasher)).collect();
    let mut reader = BlockReader::new(files, OPEN_FILES);
    let mut next = 0;
    let read = |batch: &mut Batch| {
        let more = !options.cancel.is_cancelled() && next < rows.len();
        next += if more { batch.read(&rows[next..], &mut reader) } else { 0 };
        Ok::<_, Error>(more)
    };
    let take = |batch: &mut Batch| {
        batch.answer(files, &mut answer)?;
        Ok(Flow::Continue)
    };
    let ended = Stages::read("read", read)
        .watched(options.cancel.live())
        .parallel("prepare", |batch: &mut Batch| batch.prepare(options, &hasher))
        .serial("finish", take)
        .run(batches, threads);
    ended.outcome?;
    if options.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    Ok(answer)
}

impl Batch {
    fn new(hasher: ManySha256) -> Self {
        let bodies = body::Bodies::new(hasher);
        Self { rows: vec![], blocks: vec![], causes: vec![], spare: vec![], bodies }
    }

    /// Reads the first of `rows`; how many.
    fn read(&mut self, rows: &[(Row, Found)], reader: &mut BlockReader<'_>) -> usize {
        let mut bytes = 0;
        let fits = |(_, found): &&(Row, Found)| {
            let before = bytes;
            bytes += u64::from(found.size);
            before == 0 || bytes <= BATCH_BYTES
        };
        self.rows.clear();
        self.rows.extend(rows.iter().take(BATCH_BLOCKS).take_while(fits));
        self.spare.clear();
        self.spare.resize(self.rows.len(), 0);
        self.causes.clear();
        self.causes.resize_with(self.rows.len(), || None);
        self.blocks.resize_with(self.rows.len().max(self.blocks.len()), Block::default);
        let locations: Vec<_> = self.rows.iter().map(|(_, found)| found.location()).collect();
        for (i, error) in reader.read(&locations, &mut self.blocks[..locations.len()]) {
            self.causes[i] = Some(Cause::Archive(error));
        }
        self.rows.len()
    }

    /// Takes the blocks apart and holds each to its place.
    fn prepare(&mut self, options: &Options, hasher: &ManySha256) {
        let Self { rows, blocks, causes, spare, bodies } = self;
        for (i, cause) in causes.iter_mut().enumerate().filter(|(_, cause)| cause.is_none()) {
            match blocks[i].parse_record() {
                Ok(bytes) => spare[i] = bytes,
                Err(error) => *cause = Some(Cause::Encoding(error)),
            }
        }
        let mut at = 0;
        for good in causes.chunk_by(|a, b| a.is_none() == b.is_none()) {
            let end = at + good.len();
            if good[0].is_none() {
                // together, so that short blocks share lanes
                hash_blocks(&mut blocks[at..end], hasher);
            }
            at = end;
        }
        for (i, cause) in causes.iter_mut().enumerate().filter(|(_, cause)| cause.is_none()) {
            let (row, found) = &rows[i];
            let rules = match row.height {
                Some(height) => options.params.rules(height, &found.hash, None),
                None => Rules::of_no_place(),
            };
            let (hash, median_time_past) = (found.hash, row.median_time_past);
            let challenge = options.params.signet_challenge.as_deref();
            let place = Place { hash, rules, median_time_past, challenge };
            *cause = place.check(&blocks[i], bodies).err();
        }
    }

    /// Adds what was found out to `answer`.
    fn answer(&mut self, files: &BlockFiles, answer: &mut Bodies) -> Result<(), Error> {
        for (i, cause) in self.causes.iter_mut().enumerate() {
            let ((row, found), block) = (&self.rows[i], &self.blocks[i]);
            let bad = cause.take().map(|cause| told(row, found, cause));
            let good = Some(block).filter(|_| bad.is_none());
            let spare = good.map_or(0, |_| self.spare[i]);
            answer.rows.push(Looked {
                file: found.file,
                offset: found.offset,
                transactions: good.map_or(0, |block| block.transactions.len() as u64),
                inputs: good.map_or(0, |block| block.inputs.len() as u64 - 1),
                bad,
                spare,
                hidden: if spare > 0 { hidden(files, found, spare)? } else { vec![] },
            });
        }
        Ok(())
    }
}

fn told(row: &Row, found: &Found, cause: Cause) -> Told {
    let (height, hash, offset) = (row.height.unwrap_or(0), found.hash, found.offset);
    Told::from(&Fault { height, hash, file: Default::default(), offset, cause })
}
