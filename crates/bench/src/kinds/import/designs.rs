//! How importers stored headers before: one by one, after another look at each of them, under the
//! keys that geth has used since 2015. The slow halves of the ladder's options.

mod header_table;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use blockmill_ethereum::commit::{Commit, Design, Verified, append, commit};
use blockmill_ethereum::fault::Error;
use blockmill_ethereum::option_table::Plan;
use blockmill_store::ChainStore;
use header_table::{HeaderEntry, HeaderTable};

/// A design that `plan` describes.
pub struct Earlier {
    plan: Plan,
    storage: Storage,
}

enum Storage {
    Segments(Box<ChainStore>),
    Table(Box<HeaderTable>),
}

impl Earlier {
    /// Whether `plan` stores headers in another way than an import does.
    pub fn is_described_by(plan: &Plan) -> bool {
        let checks = plan.known_check || plan.linkage_twice || plan.stop_check_per_header;
        checks || plan.clock_per_header || !plan.batch_write || !plan.segment_storage
    }

    /// Opens a store in the empty folder `dir`.
    pub fn open(dir: &Path, plan: Plan) -> blockmill_store::Result<Self> {
        let storage = match plan.segment_storage {
            true => Storage::Segments(Box::new(ChainStore::open(dir, &Default::default())?.0)),
            false => Storage::Table(Box::new(HeaderTable::open(dir)?)),
        };
        Ok(Self { plan, storage })
    }

    /// Does what the design does at one header.
    fn visit(&mut self, run: &Commit<'_>, headers: &Verified<'_>, at: usize) -> Result<(), Error> {
        if self.plan.stop_check_per_header {
            // asked at each header, obeyed at the end of the chunk
            black_box(run.cancel.is_cancelled());
        }
        if self.plan.linkage_twice && at > headers.range().start {
            let fields = headers.fields(at)?;
            let linked =
                fields.number == headers.number(at) && *fields.parent_hash == *headers.hash(at - 1);
            debug_assert!(black_box(linked), "the headers were verified");
        }
        if self.plan.known_check {
            let known = self.knows(headers.hash(at))?;
            debug_assert!(!black_box(known), "an import goes on after the last stored block");
        }
        if !self.plan.batch_write {
            self.store(headers, at, at + 1)?;
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

impl Design for Earlier {
    fn write(&mut self, run: &Commit<'_>, headers: &Verified<'_>) -> Result<Duration, Error> {
        let start = Instant::now();
        let mut ticked = Duration::ZERO;
        let range = headers.range();
        for at in range.clone() {
            let tick = self.plan.clock_per_header.then(Instant::now);
            self.visit(run, headers, at)?;
            ticked += tick.map_or(Duration::ZERO, |tick| tick.elapsed());
        }
        let batched = Instant::now();
        if self.plan.batch_write {
            self.store(headers, range.start, range.end)?;
        }
        match &mut self.storage {
            Storage::Segments(store) => commit(store, run, headers)?,
            Storage::Table(table) => table.commit_if_full()?,
        }
        let is_ticking = self.plan.clock_per_header;
        Ok(if is_ticking { ticked + batched.elapsed() } else { start.elapsed() })
    }

    fn sync(&mut self) -> Result<(), Error> {
        match &mut self.storage {
            Storage::Segments(store) => store.sync()?,
            Storage::Table(table) => table.commit()?,
        }
        Ok(())
    }
}
