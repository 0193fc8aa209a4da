//! How earlier designs stored headers.

use super::header_table::{HeaderEntry, HeaderTable};
use super::{Baseline, Waste};
use blockmill_ethereum::commit::{BlockSink, Commit, Verified, append, commit};
use blockmill_ethereum::error::Error;
use blockmill_ethereum::header::HeaderView;
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// A store of headers, with what a baseline wastes at each of them.
pub struct Earlier {
    baseline: Baseline,
    storage: Storage,
    cancel: Cancel,
}

enum Storage {
    Segments(Box<ChainStore>),
    Table(Box<HeaderTable>),
}

impl Earlier {
    /// Whether headers are stored in another way than an import stores them.
    pub fn is_described_by(baseline: &Baseline) -> bool {
        let wastes = [
            Waste::WriteEach,
            Waste::LookUpKnown,
            Waste::LinkTwice,
            Waste::AskToStop,
            Waste::ReadClock,
            Waste::KeyValueTable,
        ];
        baseline.has_any(&wastes)
    }

    /// Opens a store in the empty folder `dir`, in a run that `cancel` may stop.
    ///
    /// # Errors
    /// The store cannot be created.
    pub fn open(dir: &Path, baseline: Baseline, cancel: Cancel) -> blockmill_store::Result<Self> {
        let storage = match baseline.has(Waste::KeyValueTable) {
            true => Storage::Table(Box::new(HeaderTable::open(dir)?)),
            false => Storage::Segments(Box::new(ChainStore::open(dir, &Default::default())?.0)),
        };
        Ok(Self { baseline, storage, cancel })
    }

    /// Does at one header what the baseline wastes there.
    fn visit(&mut self, headers: &Verified<'_>, at: usize) -> Result<(), Error> {
        let clock = self.baseline.has(Waste::ReadClock).then(Instant::now);
        if self.baseline.has(Waste::AskToStop) {
            // asked at each header, obeyed at the end of the chunk
            black_box(self.cancel.is_cancelled());
        }
        if self.baseline.has(Waste::LinkTwice) && at > headers.range().start {
            // decoded again, as go-ethereum does
            let linked = HeaderView::decode(headers.header(at)).is_ok_and(|fields| {
                fields.number == headers.number(at) && *fields.parent_hash == *headers.hash(at - 1)
            });
            debug_assert!(black_box(linked), "the headers were verified");
        }
        if self.baseline.has(Waste::LookUpKnown) {
            let known = self.knows(headers.hash(at))?;
            debug_assert!(!black_box(known), "an import continues after the last stored block");
        }
        if self.baseline.has(Waste::WriteEach) {
            self.store(headers, at, at + 1)?;
        }
        if let Some(clock) = clock {
            black_box(clock.elapsed());
        }
        Ok(())
    }

    fn knows(&self, hash: &[u8; 32]) -> blockmill_store::Result<bool> {
        Ok(match &self.storage {
            Storage::Segments(store) => store.number_of(hash)?.is_some(),
            Storage::Table(table) => table.number_of(hash)?.is_some(),
        })
    }

    fn store(&mut self, headers: &Verified<'_>, from: usize, to: usize) -> Result<(), Error> {
        match &mut self.storage {
            Storage::Segments(store) => append(store, headers, from..to)?,
            Storage::Table(table) => {
                for at in from..to {
                    table.put(&HeaderEntry {
                        number: headers.number(at),
                        hash: headers.hash(at),
                        header: headers.header(at),
                        total_difficulty: headers.total_difficulty(at).to_be_bytes(),
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl BlockSink for Earlier {
    fn write(&mut self, run: &Commit, headers: &Verified<'_>) -> Result<(), Error> {
        let range = headers.range();
        for at in range.clone() {
            self.visit(headers, at)?;
        }
        if !self.baseline.has(Waste::WriteEach) {
            self.store(headers, range.start, range.end)?;
        }
        match &mut self.storage {
            Storage::Segments(store) => commit(store, run, headers)?,
            Storage::Table(table) => table.commit_if_full()?,
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        match &mut self.storage {
            Storage::Segments(store) => store.sync()?,
            Storage::Table(table) => table.commit()?,
        }
        Ok(())
    }
}
