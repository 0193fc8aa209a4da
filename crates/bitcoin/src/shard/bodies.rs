//! The bodies of a shard, by its table; at level `execution` with their part of the sum.

use super::documents::{
    Bodies, Execution, Finding, Hex, Looked, Part, Row, Source, Table, remote_error, remote_fault,
};
use super::{digest, hidden};
use crate::body::reader::BlockReader;
use crate::execute::{Apart, Place, Terms};
use crate::fault::{Cause, Error, Fault};
use crate::index::Found;
use crate::multiset::{MultisetHash, Places, Undo};
use crate::options::Options;
use crate::params::Rules;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::{Flow, Made, NotMade, Stages};
use blockmill_verdict::Status;

/// Files that the reading thread keeps open.
const OPEN_FILES: usize = 16;
/// Bytes of blocks after which a batch is full, and blocks.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_BLOCKS: usize = 512;

/// Some rows of the table on their way.
struct Batch {
    rows: Vec<(Row, Found)>,
    blocks: Apart,
    made: Option<Result<Made, NotMade>>,
}

/// What became of them.
#[derive(Default)]
struct Findings {
    rows: Vec<Looked>,
    against: Option<Finding>,
    fault: Option<Finding>,
}

/// Verifies the blocks of `table`, which is that of the shard of `files`. Of the good ones is made
/// what `options` ask for.
///
/// # Errors
/// The run was asked to stop; what should be made cannot be. What is wrong with a block stands in
/// the answer.
pub fn bodies(files: &BlockFiles, table: &Table, options: &Options) -> Result<Bodies, Error> {
    let terms = terms(options, None);
    let Findings { rows, .. } = run(files, table, options, &terms)?;
    Ok(Bodies { rows, part: None })
}

/// The same, and with the coins that undo data tells the rules of level `execution`, and the part
/// of the sum. All files must still be those of `sources` and of the table when that is done.
///
/// # Errors
/// A file cannot be read, or was changed; the table is none of this chain; the run was asked to
/// stop.
pub fn execute(
    files: &BlockFiles,
    sources: &[Source],
    table: &Table,
    execution: &Execution,
    options: &Options,
) -> Result<Bodies, Error> {
    let median_times = &execution.median_times.0;
    let is_there = |row: &Row| row.height.is_some_and(|it| (it as usize) < median_times.len());
    if !table.rows.iter().all(is_there) {
        return Err(Error::OtherDocuments("a table of the chain whose times are told"));
    }
    let salt = execution.salt;
    let multiset = MultisetHash::new(Undo::Places(places(files, table)), salt.secret.0);
    let assumed_valid = execution.assumed_valid;
    let terms = Terms { median_times, assumed_valid, ..terms(options, Some(&multiset)) };
    let Findings { rows, against, fault } = run(files, table, options, &terms)?;
    digest::expect_same(sources, &digest::of_blocks(files)?)?;
    let undo = table.undo.iter().map(|source| source.path.as_path());
    digest::expect_same(&table.undo, &digest::of_files(undo)?)?;
    let total = multiset.total();
    let coinbases = total.coinbases.iter().map(|(id, height)| (*height, Hex::of_hash(*id)));
    let mut coinbases: Vec<_> = coinbases.collect();
    // threads add them in any order
    coinbases.sort_unstable();
    let part = Part {
        salt,
        sum: Hex(total.sum.to_be_bytes()),
        created: total.created,
        spent: total.spent,
        coinbases,
        against,
        fault,
    };
    Ok(Bodies { rows, part: Some(Box::new(part)) })
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

/// Where the undo data of the blocks of a table stands.
fn places(files: &BlockFiles, table: &Table) -> Places {
    let of_row = |row: &Row| {
        let found = row.record.found(row.record.file);
        let (file, at) = row.record.undo?;
        Some((found.hash, (found.header().previous(), file, at)))
    };
    Places {
        files: table.undo.iter().map(|source| source.path.clone()).collect(),
        // that of the blocks, whose hashes are known: another one would not give their headers
        key: files.files().first().map(|file| file.key()).unwrap_or_default(),
        of: table.rows.iter().filter_map(of_row).collect(),
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
    let batch = || Batch { rows: vec![], blocks: Apart::new(terms.hasher), made: None };
    let batches = (0..blockmill_pipeline::buffers(threads)).map(|_| batch()).collect();
    let mut reader = BlockReader::new(files, OPEN_FILES);
    let mut next = 0;
    let read = |batch: &mut Batch| {
        let more = !options.cancel.is_cancelled() && next < rows.len();
        next += if more { batch.read(&rows[next..], options, &mut reader) } else { 0 };
        Ok::<_, Error>(more)
    };
    let making = options.making.as_ref();
    if making.is_some() && rows.iter().any(|(row, _)| row.height.is_none()) {
        return Err(Error::OtherDocuments("a table that knows the height of each block"));
    }
    let take = |batch: &mut Batch| {
        batch.answer(files, &mut findings)?;
        if let (Some(made), Some(making)) = (batch.made.take(), making) {
            (making.keep)(&made?)?;
        }
        Ok::<_, Error>(Flow::Continue)
    };
    let stages = Stages::read("read", read)
        .watched(options.cancel.live())
        .parallel("prepare", |batch: &mut Batch| batch.blocks.prepare(terms))
        .parallel("check", |batch: &mut Batch| {
            if !options.cancel.is_cancelled() {
                batch.blocks.execute(terms);
            }
        });
    let stages = match making {
        Some(making) => stages.parallel("make", |batch: &mut Batch| {
            let goes_on = !options.cancel.is_cancelled();
            batch.made = goes_on.then(|| batch.blocks.make(terms, making));
        }),
        None => stages,
    };
    let ended = stages.serial("finish", take).run(batches, threads);
    ended.outcome?;
    if options.cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    Ok(findings)
}

impl Batch {
    /// Reads the first of `rows`; how many.
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

    /// Adds what was found out to `findings`.
    fn answer(&mut self, files: &BlockFiles, findings: &mut Findings) -> Result<(), Error> {
        for ((row, found), outcome) in self.rows.iter().zip(self.blocks.outcomes()) {
            let (body, bad) = match outcome {
                Ok(body) => (body, None),
                Err(cause) => {
                    let height = row.height.unwrap_or(0);
                    (Default::default(), Some(remote_fault(&fault(height, found, cause))))
                }
            };
            let spare = body.spare;
            let (hidden, damage) = match spare {
                0 => (vec![], vec![]),
                spare => hidden(files, found, spare)?,
            };
            findings.rows.push(Looked {
                file: found.file,
                offset: found.offset,
                transactions: body.transactions,
                inputs: body.inputs,
                bad,
                spare,
                hidden,
                damage,
            });
        }
        let (height, remote, of) = match self.blocks.take_end() {
            None => return Ok(()),
            Some((height, hash, Ok(cause))) => {
                let is_it = |(_, found): &&(Row, Found)| found.hash == hash;
                let row = self.rows.iter().find(is_it);
                let Some((_, found)) = row else { return Ok(()) };
                (height, remote_fault(&fault(height, found, cause)), &mut findings.fault)
            }
            Some((height, _, Err(error))) if error.status() == Status::Corrupt => {
                // a block before it may have ended the batch, too
                let block = error.report().block.and_then(|block| block.try_into().ok());
                (block.unwrap_or(height), remote_error(&error), &mut findings.against)
            }
            Some((.., Err(error))) => return Err(error),
        };
        if of.as_ref().is_none_or(|lowest| lowest.height > height) {
            *of = Some(Finding { height, remote });
        }
        Ok(())
    }
}

fn fault(height: u32, found: &Found, cause: Cause) -> Fault {
    Fault { block: height.into(), hash: Some(found.hash), location: None, cause }
}
