//! An export of any chain: which tables, where to, and what is known of the blocks.

use crate::encode::{Cuts, Piece, ROW_GROUP, Task, Written};
use crate::error::Error;
use crate::manifest::{FileEntry, Manifest};
use crate::outlet::Outlet;
use crate::partition::PartitionBy;
use crate::schema::{Form, Table};
use crate::write::FileWriter;
use arrow_array::RecordBatch;
use blockmill_verdict::RunOutcome;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most tasks that encode columns side by side.
const TASKS: usize = 8;

/// What stays the same for all files of a run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Where files are written.
    pub folder: PathBuf,
    /// May files of the same names be replaced?
    pub replace: bool,
    /// How they are written.
    pub form: Form,
    /// How blocks are divided into them.
    pub partition: PartitionBy,
    /// The last block of the export that this run continues, if it does. Only later blocks are
    /// written.
    pub after: Option<LastBlock>,
    /// The network.
    pub chain: String,
    /// Hash of its first block, as its users write it.
    pub genesis: String,
    /// How deep blocks are verified.
    pub level: &'static str,
    /// Name, version and revision of the program.
    pub program: String,
    /// What else decides on the verdict.
    pub rules: String,
}

/// The last block of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastBlock {
    /// Its number.
    pub number: u64,
    /// Its hash, as users of the chain write it.
    pub hash: String,
}

impl LastBlock {
    /// The number of the block after it.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.number.saturating_add(1)
    }
}

impl Facts {
    /// What the footer of a file says of its partition.
    pub(crate) fn of_partition(
        &self,
        (first, last): (u64, u64),
        source: Option<&str>,
        sum: Option<&str>,
    ) -> Vec<(String, String)> {
        let mut facts = vec![
            ("verified", "partition".to_owned()),
            ("chain", self.chain.clone()),
            ("genesis", self.genesis.clone()),
            ("level", self.level.to_owned()),
            ("first", first.to_string()),
            ("last", last.to_string()),
            ("program", self.program.clone()),
            ("rules", self.rules.clone()),
        ];
        facts.extend(source.map(|source| ("source", source.to_owned())));
        facts.extend(sum.map(|sum| ("source_sha256", sum.to_owned())));
        facts.into_iter().map(|(key, value)| (format!("blockmill.{key}"), value)).collect()
    }
}

/// The name of all tables that a run can write, together.
pub const ALL_TABLES: &str = "all";

/// The least similarity of a name to another that is suggested in its place, from 0 to 1.
const SIMILAR: f64 = 0.7;

/// The tables of `all` that are called `names`, in the order of `all`. [`ALL_TABLES`] are those of
/// `given`.
///
/// # Errors
/// For a name that is not there.
pub fn tables_named(
    all: &[&'static Table],
    given: &[&'static Table],
    names: &[String],
) -> Result<Vec<&'static Table>, Error> {
    let is_there =
        |name: &&String| *name == ALL_TABLES || all.iter().any(|table| table.name == **name);
    if let Some(name) = names.iter().find(|name| !is_there(name)) {
        return Err(no_table(all, name));
    }
    let is_asked = |table: &&'static Table| {
        let is_given = || given.iter().any(|given| given.name == table.name);
        let is_own = |name: &String| name == table.name || (name == ALL_TABLES && is_given());
        names.iter().any(is_own)
    };
    Ok(all.iter().copied().filter(is_asked).collect())
}

/// The error for a name that no table has.
fn no_table(all: &[&'static Table], name: &str) -> Error {
    let names = || all.iter().map(|table| table.name).chain([ALL_TABLES]);
    let similarity = |of: &str| strsim::jaro(of, name);
    let similar = names().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    let similar = similar.filter(|similar| similarity(similar) > SIMILAR);
    let expected = names().collect::<Vec<_>>().join(", ");
    let mut others = crate::all_tables().filter(|(_, table)| table.name == name);
    let hint = match (others.next(), similar) {
        (Some((chain, _)), _) => format!(", a table of {chain}"),
        (None, Some(name)) => format!("; did you mean {name}?"),
        (None, None) => String::new(),
    };
    Error::Table { expected, found: name.into(), hint }
}

/// A run that writes tables. Clones are the same run.
#[derive(Clone)]
pub struct Export {
    facts: Facts,
    tasks: Vec<Arc<Mutex<Task>>>,
    outlet: Arc<Mutex<Outlet>>,
}

impl Export {
    /// Of these tables, whose rows go to a reader as they are verified; of `facts` only the form is
    /// looked at. First, a batch without rows tells the columns of each table.
    ///
    /// # Errors
    /// When the reader is gone; what is to be sent to it then fails, too.
    pub fn to_reader(
        tables: &[&'static Table],
        facts: Facts,
        reader: SyncSender<RecordBatch>,
    ) -> Result<Self, Error> {
        let mut empty = tables.iter().map(|table| RecordBatch::new_empty(table.schema(facts.form)));
        empty.try_for_each(|batch| reader.send(batch)).map_err(|_| Error::NoReader)?;
        let outlet = Arc::new(Mutex::new(Outlet::Reader(reader)));
        Ok(Self { facts, tasks: vec![], outlet })
    }

    /// Of these tables, encoded by `threads`.
    ///
    /// # Errors
    /// None for the tables of this crate.
    pub fn new(tables: &[&'static Table], facts: Facts, threads: usize) -> Result<Self, Error> {
        Self::with_row_groups(tables, facts, threads, ROW_GROUP)
    }

    /// The same with row groups of about so many bytes.
    ///
    /// # Errors
    /// None for the tables of this crate.
    pub fn with_row_groups(
        tables: &[&'static Table],
        facts: Facts,
        threads: usize,
        row_group: usize,
    ) -> Result<Self, Error> {
        let written: Result<Arc<[_]>, _> =
            tables.iter().map(|table| Written::new(table, facts.form)).collect();
        let (written, cuts) = (written?, Cuts::new(tables.len(), row_group));
        let tasks = Task::all(&written, threads.clamp(1, TASKS), &cuts).into_iter();
        let writer = FileWriter::new(written, facts.clone(), cuts);
        Ok(Self {
            facts,
            tasks: tasks.map(|task| Arc::new(Mutex::new(task))).collect(),
            outlet: Arc::new(Mutex::new(Outlet::Files(Box::new(writer)))),
        })
    }

    /// The parts of encoding, each of which takes all pieces in order.
    #[must_use]
    pub fn encoders(&self) -> Vec<Encoder> {
        self.tasks.iter().cloned().map(Encoder).collect()
    }

    /// Writes a piece that every encoder has taken.
    ///
    /// # Errors
    /// Those of the files.
    pub fn write(&self, piece: &Piece) -> Result<(), Error> {
        held(&self.outlet).take(piece)
    }

    /// There are no more pieces: the last unit is complete, too. Every file, in order.
    ///
    /// # Errors
    /// Those of the files.
    pub fn finish(&self) -> Result<Vec<FileEntry>, Error> {
        self.tasks.iter().try_for_each(|task| held(task).end())?;
        let Outlet::Files(writer) = &mut *held(&self.outlet) else { return Ok(vec![]) };
        writer.end()?;
        Ok(std::mem::take(&mut writer.files))
    }

    /// The manifest of a run that had this verdict.
    #[must_use]
    pub fn manifest(&self, verdict: Verdict, files: Vec<FileEntry>) -> Manifest {
        let Facts { chain, genesis, level, program, rules, partition, .. } = self.facts.clone();
        let Verdict { partial, first, last, tip, anchor } = verdict;
        // what a chain begins with is written, but was not read
        let first = files.iter().map(|file| file.first).fold(first, u64::min);
        Manifest {
            verified: if partial { "partial" } else { "chain" }.into(),
            level: level.into(),
            chain,
            genesis,
            first,
            last,
            tip,
            anchor,
            program,
            rules,
            partition: (partition != PartitionBy::Source).then(|| partition.to_string()),
            files,
            ..Manifest::default()
        }
    }

    /// What stays the same for all files.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// What was found about the whole chain.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Are blocks missing, with the user's consent?
    pub partial: bool,
    /// The first block.
    pub first: u64,
    /// The last block.
    pub last: u64,
    /// Its hash.
    pub tip: String,
    /// The first block of an archive that begins in the middle of its chain.
    pub anchor: Option<String>,
}

impl From<RunOutcome> for Verdict {
    fn from(outcome: RunOutcome) -> Self {
        let (first, last) = outcome.range.unwrap_or_default();
        Self {
            partial: !outcome.shortfalls.is_empty(),
            first,
            last,
            tip: outcome.tip.map(|tip| tip.hash).unwrap_or_default(),
            anchor: outcome.anchor.map(|anchor| format!("{} {}", anchor.number, anchor.hash)),
        }
    }
}

/// A part of encoding.
pub struct Encoder(Arc<Mutex<Task>>);

impl Encoder {
    /// Encodes its columns of a piece.
    ///
    /// # Errors
    /// Those of the encoding.
    pub fn take(&self, piece: &Piece) -> Result<(), Error> {
        held(&self.0).take(piece)
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // a panic ends the run elsewhere
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
