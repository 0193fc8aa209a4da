//! Verifies the bodies of a shard by its table. At level `execution` it also computes the multiset
//! hash of their coins.

use super::documents::{
    Bodies, BodiesMultiset, BodyResult, Execution, Finding, Hex, Row, SourceFile, Table,
    remote_error, remote_fault,
};
use super::{digest, hidden};
use crate::body::reader::BlockReader;
use crate::error::Error;
use crate::execute::{Place, ShardBatch, Terms};
use crate::fault::{Cause, Fault};
use crate::index::Found;
use crate::multiset::{MultisetHash, UndoData, UndoPositions};
use crate::options::Options;
use crate::params::Rules;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::{CarriesRows, Derived, Flow, Stages};
use blockmill_verdict::Status;

/// Number of files that the reading thread keeps open.
const OPEN_FILES: usize = 16;
/// Limits of a batch, in bytes and blocks.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_BLOCKS: usize = 512;

/// A buffer of the pipeline: some rows of the table, and their blocks.
struct Batch {
    rows: Vec<(Row, Found)>,
    blocks: ShardBatch,
    derived: Derived,
}

/// The results of a table.
#[derive(Default)]
struct Findings {
    rows: Vec<BodyResult>,
    undo_fault: Option<Finding>,
    fault: Option<Finding>,
}

/// Verifies the blocks of `table`, the table of the shard of `files`. Passes the good blocks to the
/// consumer of `options`. Faults of blocks are in the result.
///
/// # Errors
/// Returns [`Error::Stopped`] on request, and [`Error::Consumer`] if the consumer fails.
pub fn bodies(files: &BlockFiles, table: &Table, options: &Options) -> Result<Bodies, Error> {
    let terms = terms(options, None);
    let Findings { rows, .. } = run(files, table, options, &terms)?;
    Ok(Bodies { rows, multiset: None })
}

/// Verifies the blocks of `table` at level `execution`, with the spent coins of undo data, and
/// computes their multiset hash. Faults of blocks are in the result.
///
/// # Errors
/// Returns [`Error::FileChanged`] if a file changed since `sources` and the table were written,
/// [`Error::OtherDocuments`] if the table belongs to another chain, [`Error::System`] if a file
/// cannot be read, and the errors of [`bodies`].
pub fn execute(
    files: &BlockFiles,
    sources: &[SourceFile],
    table: &Table,
    execution: &Execution,
    options: &Options,
) -> Result<Bodies, Error> {
    let median_times = &execution.median_times.0;
    let is_known = |row: &Row| row.height.is_some_and(|it| (it as usize) < median_times.len());
    if !table.rows.iter().all(is_known) {
        return Err(Error::OtherDocuments("a table of the chain of these median times"));
    }
    let salt = execution.salt;
    let undo = UndoData::Shard(undo_positions(files, table));
    let multiset = MultisetHash::new(undo, salt.secret.0);
    let assumed_valid = execution.assumed_valid;
    let terms = Terms { median_times, assumed_valid, ..terms(options, Some(&multiset)) };
    let Findings { rows, undo_fault, fault } = run(files, table, options, &terms)?;
    digest::expect_same(sources, &digest::of_blocks(files)?)?;
    let undo = table.undo.iter().map(|source| source.path.as_path());
    digest::expect_same(&table.undo, &digest::of_files(undo)?)?;
    let total = multiset.total();
    let coinbases = total.coinbases.iter().map(|(id, height)| (*height, Hex::of_hash(*id)));
    let mut coinbases: Vec<_> = coinbases.collect();
    // threads add them in any order
    coinbases.sort_unstable();
    let multiset = BodiesMultiset {
        salt,
        hash: Hex(total.hash.to_be_bytes()),
        created: total.created,
        spent: total.spent,
        coinbases,
        undo_fault,
        fault,
    };
    Ok(Bodies { rows, multiset: Some(Box::new(multiset)) })
}

fn terms<'a>(options: &'a Options, multiset: Option<&'a MultisetHash<'a>>) -> Terms<'a> {
    Terms {
        params: &options.params,
        connects: multiset.is_some(),
        median_times: &[],
        assumed_valid: 0,
        hasher: ManySha256::detect(),
        signatures: options.settings.signatures.verifier(),
        scripts: options.settings.scripts,
        multiset,
    }
}

/// The positions of the undo data of the blocks of a table.
fn undo_positions(files: &BlockFiles, table: &Table) -> UndoPositions {
    let of_row = |row: &Row| {
        let found = row.record.found(row.record.file);
        let (file, at) = row.record.undo?;
        Some((found.hash, (found.header().previous(), file, at)))
    };
    UndoPositions {
        files: table.undo.iter().map(|source| source.path.clone()).collect(),
        // the key of the block files, which is right: their headers have the expected hashes
        key: files.files().first().map(|file| file.key()).unwrap_or_default(),
        by_block: table.rows.iter().filter_map(of_row).collect(),
    }
}

fn run(
    files: &BlockFiles,
    table: &Table,
    options: &Options,
    terms: &Terms,
) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let of_row = |row: &Row| (*row, row.record.found(row.record.file));
    let rows: Vec<_> = table.rows.iter().map(of_row).collect();
    let threads = options.settings.stages.threads(options.threads);
    let batch = || Batch { rows: vec![], blocks: ShardBatch::new(terms.hasher), derived: None };
    let batches = (0..blockmill_pipeline::buffers(threads)).map(|_| batch()).collect();
    let mut reader = BlockReader::new(files, OPEN_FILES);
    let mut next = 0;
    let read = |batch: &mut Batch| {
        let more = !options.cancel.is_cancelled() && next < rows.len();
        next += if more { batch.read(&rows[next..], options, &mut reader) } else { 0 };
        Ok::<_, Error>(more)
    };
    let consumer = options.consumer.as_ref();
    if consumer.is_some() && rows.iter().any(|(row, _)| row.height.is_none()) {
        return Err(Error::OtherDocuments("a table with the height of each block"));
    }
    let take = |batch: &mut Batch| {
        batch.add_results(files, &mut findings)?;
        Ok::<_, Error>(Flow::Continue)
    };
    let ended = Stages::read("read", read)
        .watched(options.cancel.live())
        .parallel("prepare", |batch: &mut Batch| batch.blocks.prepare(terms))
        .parallel("check", |batch: &mut Batch| {
            if !options.cancel.is_cancelled() {
                batch.blocks.execute(terms);
            }
        })
        .consume(consumer, |batch: &Batch, derive| {
            (!options.cancel.is_cancelled()).then(|| batch.blocks.derive(terms, derive))
        })
        .serial("finish", take)
        .run(batches, threads);
    ended.outcome?;
    if options.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    Ok(findings)
}

impl CarriesRows for Batch {
    fn rows(&self) -> &Derived {
        &self.derived
    }

    fn rows_mut(&mut self) -> &mut Derived {
        &mut self.derived
    }

    fn is_last(&self) -> bool {
        // each block is verified apart from the others
        false
    }
}

impl Batch {
    /// Reads the blocks of as many of `rows` as fit into a batch. Returns their number.
    fn read(
        &mut self,
        rows: &[(Row, Found)],
        options: &Options,
        reader: &mut BlockReader<'_>,
    ) -> usize {
        let mut bytes = 0;
        let fits = |(_, found): &&(Row, Found)| {
            let before = bytes;
            bytes += u64::from(found.size);
            before == 0 || bytes <= BATCH_BYTES
        };
        self.rows.clear();
        self.rows.extend(rows.iter().take(BATCH_BLOCKS).take_while(fits));
        let of_row = |(row, found): &(Row, Found)| {
            let rules = match row.height {
                Some(height) => options.params.rules(height, &found.hash, None),
                None => Rules::of_no_place(),
            };
            let (hash, median_time_past) = (found.hash, row.median_time_past);
            (found.location(), Place { hash, rules, median_time_past })
        };
        self.blocks.read(self.rows.iter().map(of_row), reader);
        self.rows.len()
    }

    /// Adds the results of the batch to `findings`.
    fn add_results(&mut self, files: &BlockFiles, findings: &mut Findings) -> Result<(), Error> {
        for ((row, found), outcome) in self.rows.iter().zip(self.blocks.outcomes()) {
            let (body, bad) = match outcome {
                Ok(body) => (body, None),
                Err(cause) => {
                    let height = row.height.unwrap_or(0);
                    (Default::default(), Some(remote_fault(&fault(height, found, cause))))
                }
            };
            let (hidden, corruption) = match body.trailing_bytes {
                0 => (vec![], vec![]),
                bytes => hidden(files, found, bytes)?,
            };
            findings.rows.push(BodyResult {
                file: found.file,
                offset: found.offset,
                transactions: body.transactions,
                inputs: body.inputs,
                fault: bad,
                trailing_bytes: body.trailing_bytes,
                hidden,
                corruption,
            });
        }
        let (height, remote, lowest) = match self.blocks.take_end() {
            None => return Ok(()),
            Some((height, hash, Ok(cause))) => {
                let is_it = |(_, found): &&(Row, Found)| found.hash == hash;
                let row = self.rows.iter().find(is_it);
                let Some((_, found)) = row else { return Ok(()) };
                (height, remote_fault(&fault(height, found, cause)), &mut findings.fault)
            }
            Some((height, _, Err(error))) if error.status() == Status::Corrupt => {
                // the error may be about an earlier block
                let block = error.report().block.and_then(|block| block.try_into().ok());
                (block.unwrap_or(height), remote_error(&error), &mut findings.undo_fault)
            }
            Some((.., Err(error))) => return Err(error),
        };
        if lowest.as_ref().is_none_or(|lowest| lowest.height > height) {
            *lowest = Some(Finding { height, remote });
        }
        Ok(())
    }
}

fn fault(height: u32, found: &Found, cause: Cause) -> Fault {
    Fault { block: height.into(), hash: Some(found.hash), location: None, cause }
}
