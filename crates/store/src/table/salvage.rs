//! Reads what is whole of a table with corrupt files, for a caller that can rebuild the rest.

use std::sync::Arc;

use super::{
    Table, TableOptions,
    cursor::{ALL, CursorSource, Merged, RunCursor},
    number_of,
    part::TableFacts,
    run::Run,
    run_writer::RunWriter,
};
use crate::{
    error::{Error, Result},
    folder::Folder,
    manifest::PartKind,
    opening::Opening,
};

impl Opening {
    /// Opens a table that may have corrupt runs. What is whole is written as one run, which the
    /// next commit names in the place of all. The second value lists what is corrupt; it is empty
    /// for a whole table. Entries of corrupt pages are missing: if an older run has the key, its
    /// value counts, and removed keys may be live again.
    ///
    /// # Errors
    /// As [`Opening::table`], except for corrupt pages; [`Error::ReadOnly`].
    pub fn salvage_table(
        &mut self,
        name: &'static str,
        options: &TableOptions,
    ) -> Result<(Table, Vec<Error>)> {
        if self.is_read_only() {
            return Err(Error::ReadOnly { path: self.folder.dir.clone() });
        }
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Table, name));
        let corruption = match facts {
            Some(facts) => Table::survey(&self.folder, name, facts, &|_| true)?,
            None => vec![],
        };
        if corruption.is_empty() {
            return Ok((self.table(name, options)?, corruption));
        }
        self.add(PartKind::Table, name, |file| number_of(file, name).is_some())?;
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Table, name));
        Ok((Table::salvage(&self.folder, name, facts, options)?, corruption))
    }
}

impl Table {
    /// Opens a table with corrupt runs: [`crate::Opening::salvage_table`].
    pub(crate) fn salvage(
        folder: &Arc<Folder>,
        name: &str,
        facts: Option<&[u8]>,
        options: &TableOptions,
    ) -> Result<Table> {
        let facts = facts.and_then(TableFacts::decode).unwrap_or(TableFacts {
            prefix_bytes: options.prefix_bytes,
            counted: options.counted,
            runs: vec![],
        });
        let mut table = Table::with_facts(folder, name, &facts, options, |facts| {
            match Run::open(&*folder.disk, &folder.dir, name, *facts) {
                // of a run without an index nothing is found
                Err(Error::Corrupt { .. }) => Ok(None),
                opened => opened.map(Some),
            }
        })?;
        let runs = &table.runs.runs;
        let entries = runs.iter().map(|run| run.facts.live).sum();
        let whole_pages = |run: &Arc<Run>| {
            CursorSource::Run(Box::new(RunCursor::skipping_corruption(Arc::clone(run))))
        };
        let mut merged = Merged::new(runs.iter().map(whole_pages).collect(), true, ALL)?;
        let mut writer = RunWriter::create(folder, &table.shape, folder.take_number(), entries)?;
        while let Some(record) = merged.next()? {
            writer.push(&record)?;
        }
        let whole = writer.finish()?;
        table.replaced = facts.runs.iter().map(|run| run.number).collect();
        let runs = match whole.facts.entries {
            0 => {
                table.replaced.push(whole.facts.number);
                vec![]
            }
            _ => vec![Arc::new(whole)],
        };
        table.runs = table.runs_of(runs, true);
        table.has_spilled = true;
        Ok(table)
    }
}
