//! A table as a part of a commit.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use super::{
    Compression, Table, TableOptions,
    cursor::ALL,
    memtable::Memtable,
    merge::{self, Merge},
    run::{Run, RunFacts, path_of},
    run_writer::{RunWriter, Shape},
    runs::{Runs, TableReader},
};
use crate::{
    crash::CrashPoint,
    error::{Error, Result, mismatch},
    folder::Folder,
    manifest::{self, Fields},
};

/// Chunks in the memory of a table, about.
const CHUNKS: usize = 128;
/// The part of the memory that empty hash tables take.
const FIRST_TABLES: usize = 1024;
/// The smallest and the largest chunk.
const CHUNK_BYTES: (usize, usize) = (1 << 16, 1 << 21);
/// Bytes of a run in the facts.
const RUN: usize = 8 * 8 + 4 + 1;

/// Written by a commit that does not count yet.
pub(crate) struct Pending {
    runs: Vec<Arc<Run>>,
    /// Numbers of runs that are named no more.
    away: Vec<u64>,
    flushed: bool,
}

/// Facts of a table in a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableFacts {
    pub prefix_bytes: u8,
    pub counted: bool,
    /// Newest first.
    pub runs: Vec<RunFacts>,
}

impl TableFacts {
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.prefix_bytes, self.counted.into()];
        for run in &self.runs {
            for word in [
                run.number,
                run.entries,
                run.live,
                run.below,
                run.units,
                run.pages,
                run.index_bytes,
                run.filter_blocks,
            ] {
                out.extend(word.to_le_bytes());
            }
            out.extend(run.sum.to_le_bytes());
            out.push(match run.compression {
                Compression::None => 0,
                Compression::Lz4 => 1,
            });
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<TableFacts> {
        let mut fields = Fields(bytes);
        let prefix_bytes = fields.byte()?;
        let counted = match fields.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut runs = vec![];
        while fields.0.len() >= RUN {
            runs.push(RunFacts {
                number: fields.long()?,
                entries: fields.long()?,
                live: fields.long()?,
                below: fields.long()?,
                units: fields.long()?,
                pages: fields.long()?,
                index_bytes: fields.long()?,
                filter_blocks: fields.long()?,
                sum: fields.short()?,
                compression: match fields.byte()? {
                    0 => Compression::None,
                    1 => Compression::Lz4,
                    _ => return None,
                },
            });
        }
        fields.0.is_empty().then_some(TableFacts { prefix_bytes, counted, runs })
    }
}

impl Table {
    /// Opens the table with these facts of a manifest; `None` if it is new.
    pub(crate) fn open(
        folder: &Arc<Folder>,
        name: &str,
        facts: Option<&[u8]>,
        options: &TableOptions,
    ) -> Result<Table> {
        let (prefix_bytes, counted) = (options.prefix_bytes, options.counted);
        let facts = match facts {
            None => TableFacts { prefix_bytes, counted, runs: vec![] },
            Some(bytes) => TableFacts::decode(bytes).ok_or_else(|| {
                let found = format!("{} other bytes", bytes.len());
                manifest::corrupt(&folder.dir, format!("facts of table {name}"), found)
            })?,
        };
        Table::with_facts(folder, name, &facts, options, |facts| {
            Ok(Some(Run::open(&*folder.disk, &folder.dir, name, *facts)?))
        })
    }

    /// The table of these facts, of which `open` opens the runs.
    pub(super) fn with_facts(
        folder: &Arc<Folder>,
        name: &str,
        facts: &TableFacts,
        options: &TableOptions,
        open: impl Fn(&RunFacts) -> Result<Option<Run>>,
    ) -> Result<Table> {
        let (prefix_bytes, counted) = (options.prefix_bytes, options.counted);
        let asked = (prefix_bytes, counted);
        if (facts.prefix_bytes, facts.counted) != asked {
            let found = format!("{asked:?}");
            let expected = format!("{:?}", (facts.prefix_bytes, facts.counted));
            return Err(mismatch("prefix_bytes and counted of a table", expected, found));
        }
        let runs = facts.runs.iter().map(open).collect::<Result<Vec<_>>>()?;
        let runs = runs.into_iter().flatten().map(Arc::new).collect();
        let compression = options.compression;
        let shape = Shape { table: name.into(), compression, prefix_bytes, counted };
        let (salt, cache) = (folder.salt, options.cache.clone());
        let runs = Arc::new(Runs { generation: 0, runs, salt, shape: shape.clone(), cache });
        let chunk = (options.memory_bytes / CHUNKS).max(1).next_power_of_two();
        let chunk = chunk.clamp(CHUNK_BYTES.0, CHUNK_BYTES.1);
        Ok(Table {
            folder: Arc::clone(folder),
            shape,
            changes: Memtable::new(chunk, options.memory_bytes / FIRST_TABLES),
            reader: TableReader(Arc::new(Mutex::new(Arc::clone(&runs)))),
            runs,
            merge: None,
            memory_bytes: options.memory_bytes,
            pending: None,
            has_spilled: false,
            replaced: vec![],
        })
    }

    /// The numbers of the runs that facts of a table name.
    pub(crate) fn numbers(facts: &[u8]) -> Vec<u64> {
        let facts = TableFacts::decode(facts).unwrap_or_default();
        facts.runs.iter().map(|run| run.number).collect()
    }

    /// Returns whether there are changes since the last commit, in memory or spilled.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.has_spilled || self.changes.entries() > 0
    }

    /// Writes the changes to disk now, so that the next commit only names them: for large changes
    /// before a commit is possible. Until that commit they are lost with the process, as all
    /// changes are.
    ///
    /// # Errors
    /// [`Error::Io`] if the run cannot be written.
    pub fn spill(&mut self) -> Result<()> {
        if self.changes.entries() == 0 {
            return Ok(());
        }
        let mut runs = self.runs.runs.clone();
        runs.insert(0, Arc::new(self.flush()?));
        self.runs = self.runs_of(runs, true);
        self.has_spilled = true;
        self.changes.clear(self.room());
        Ok(())
    }

    /// These runs as the newest.
    pub(super) fn runs_of(&self, runs: Vec<Arc<Run>>, flushed: bool) -> Arc<Runs> {
        Arc::new(Runs {
            generation: self.runs.generation + u64::from(flushed),
            runs,
            salt: self.folder.salt,
            shape: self.shape.clone(),
            cache: self.runs.cache.clone(),
        })
    }

    /// Writes all changes as one run. Returns the facts after the commit.
    pub(crate) fn prepare(&mut self) -> Result<Vec<u8>> {
        let mut runs = self.runs.runs.clone();
        let mut away = self.take_in_merge(&mut runs)?;
        away.extend(&self.replaced);
        let flushed = self.changes.entries() > 0;
        if flushed {
            runs.insert(0, Arc::new(self.flush()?));
        }
        let facts = TableFacts {
            prefix_bytes: self.shape.prefix_bytes,
            counted: self.shape.counted,
            runs: runs.iter().map(|run| run.facts).collect(),
        };
        self.pending = Some(Pending { runs, away, flushed });
        Ok(facts.encode())
    }

    /// Applies the commit that was prepared.
    pub(crate) fn finish_commit(&mut self) -> Result<()> {
        let Some(Pending { runs, away, flushed }) = self.pending.take() else { return Ok(()) };
        self.runs = self.runs_of(runs, flushed);
        self.has_spilled = false;
        self.reader.publish(Arc::clone(&self.runs));
        let replaced = std::mem::take(&mut self.replaced);
        for number in away {
            let path = path_of(&self.folder.dir, &self.shape.table, number);
            match self.folder.remove(&path) {
                // a replaced run may have been missing entirely
                Err(Error::Io { source, .. })
                    if source.kind() == ErrorKind::NotFound && replaced.contains(&number) => {}
                removed => removed?,
            }
        }
        self.plan_merge();
        if flushed {
            self.changes.clear(self.room());
        }
        // only now is there room for it
        self.merge.as_mut().map_or(Ok(()), Merge::start)
    }

    /// Writes the changes as a run.
    fn flush(&mut self) -> Result<Run> {
        let entries = self.changes.entries() as u64;
        let number = self.folder.take_number();
        let mut writer = RunWriter::create(&self.folder, &self.shape, number, entries)?;
        let mut sorted = self.changes.sorted(ALL);
        for at in 0.. {
            if at == entries / 2 && self.folder.is_due(CrashPoint::HalfRun) {
                return Err(Error::Crash(CrashPoint::HalfRun));
            }
            let Some(record) = sorted.next() else { break };
            writer.push(&record)?;
        }
        writer.finish()
    }

    /// Replaces the inputs of a finished merge by its result. Returns the numbers of the inputs.
    fn take_in_merge(&mut self, runs: &mut Vec<Arc<Run>>) -> Result<Vec<u64>> {
        let wait = runs.len() >= merge::TOO_MANY;
        let Some(merge) = self.merge.take_if(|merge| wait || merge.is_done()) else {
            return Ok(Vec::new());
        };
        let inputs = merge.inputs.clone();
        let merged = merge.result()?;
        let is_input = |run: &Arc<Run>| inputs.contains(&run.facts.number);
        let at = runs.iter().position(is_input).unwrap_or(0);
        runs.retain(|run| !is_input(run));
        let mut away = inputs.clone();
        if merged.facts.entries > 0 {
            runs.insert(at, Arc::new(merged));
        } else {
            away.push(merged.facts.number);
        }
        Ok(away)
    }

    /// Plans a merge if there are many runs and none is going on.
    fn plan_merge(&mut self) {
        let runs = &self.runs.runs;
        let sizes: Vec<u64> = runs.iter().map(|run| run.disk_bytes()).collect();
        let Some(count) = merge::choose(&sizes).filter(|_| self.merge.is_none()) else { return };
        let (inputs, oldest) = (runs[..count].to_vec(), count == runs.len());
        let number = self.folder.take_number();
        self.merge = Some(Merge::new(&self.folder, &self.shape, number, inputs, oldest));
    }

    /// Returns whether a merge is running, or is done and waits for a commit.
    #[must_use]
    pub fn is_merging(&self) -> bool {
        self.merge.is_some()
    }

    /// Waits for the merge that is going on, if any; the next commit takes its result in.
    pub fn wait_for_merge(&self) {
        while self.merge.as_ref().is_some_and(|merge| !merge.is_done()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_a_table_come_back() {
        let run =
            RunFacts { number: 7, entries: 5, live: 3, below: 2, sum: 9, ..Default::default() };
        let packed = RunFacts { compression: Compression::Lz4, ..run };
        let facts = TableFacts { prefix_bytes: 3, counted: true, runs: vec![run, packed] };
        let bytes = facts.encode();
        assert_eq!(TableFacts::decode(&bytes), Some(facts));
        assert_eq!(Table::numbers(&bytes), [7, 7]);
        for len in (0..bytes.len()).filter(|len| (len - len.min(&2)) % RUN != 0 || *len < 2) {
            assert_eq!(TableFacts::decode(&bytes[..len]), None);
        }
    }
}
