//! The files of a run: one for each partition and table, aside until it is complete.

use crate::encode::{Cuts, Piece, Written};
use crate::error::Error;
use crate::export::Facts;
use crate::manifest::FileEntry;
use crate::partition::{HashedSource, Partition, file_name, plain};
use blockmill_archive::output::OutputFile;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Writes row groups as they become complete.
pub(crate) struct FileWriter {
    tables: Arc<[Written]>,
    facts: Facts,
    cuts: Cuts,
    open: Option<OpenPartition>,
    /// What is complete.
    pub files: Vec<FileEntry>,
}

/// The partition at hand.
struct OpenPartition {
    partition: Partition,
    range: (u64, u64),
    source: Option<HashedSource>,
    files: Vec<SerializedFileWriter<OutputFile>>,
}

impl FileWriter {
    pub fn new(tables: Arc<[Written]>, facts: Facts, cuts: Cuts) -> Self {
        Self { tables, facts, cuts, open: None, files: vec![] }
    }

    /// Takes a piece that every task has taken.
    pub fn take(&mut self, piece: &Piece) -> Result<(), Error> {
        if self.cuts.ends_before(piece) {
            self.end()?;
        }
        match &mut self.open {
            Some(open) => open.range.1 = piece.range.1,
            None => self.open = Some(self.begin(piece)?),
        }
        for (table, cuts) in self.cuts.take(piece).iter().enumerate() {
            let mut ends = cuts.iter().filter(|cut| cut.ends_row_group);
            ends.try_for_each(|_| self.write_row_group(table))?;
        }
        Ok(())
    }

    fn begin(&self, piece: &Piece) -> Result<OpenPartition, Error> {
        let source = match &piece.partition {
            Partition::File(path) => Some(HashedSource::begin(path)?),
            _ => None,
        };
        let mut files = vec![];
        for written in &*self.tables {
            let first = piece.range.0;
            let aside = format!("{}-{}-{first}", plain(&self.facts.chain), written.table.name);
            let file = OutputFile::create(&self.facts.folder.join(aside))?;
            let (root, properties) = (written.root.clone(), written.properties.clone());
            files.push(SerializedFileWriter::new(file, root, properties)?);
        }
        Ok(OpenPartition { partition: piece.partition.clone(), range: piece.range, source, files })
    }

    fn write_row_group(&mut self, table: usize) -> Result<(), Error> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let Some(chunks) = self.tables[table].row_group() else { return Ok(()) };
        let mut group = open.files[table].next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// The partition is complete: its last row groups are written, and its files get their names.
    pub fn end(&mut self) -> Result<(), Error> {
        (0..self.tables.len()).try_for_each(|table| self.write_row_group(table))?;
        let Some(OpenPartition { partition, range, source, files }) = self.open.take() else {
            return Ok(());
        };
        let sum = source.map(HashedSource::finish).transpose()?;
        let path = match &partition {
            Partition::File(path) => Some(path.display().to_string()),
            _ => None,
        };
        let of_partition = self.facts.of_partition(range, path.as_deref(), sum.as_deref());
        for (written, file) in self.tables.iter().zip(files) {
            let name =
                file_name(&self.facts.chain, written.table.name, range, self.facts.form.names);
            let name = partition.path(written.table, &name);
            let entry =
                close(file, &of_partition, self.facts.folder.join(&name), self.facts.replace)?;
            self.files.push(FileEntry {
                file: name,
                table: written.table.name.into(),
                first: range.0,
                last: range.1,
                source: path.clone(),
                source_sha256: sum.clone(),
                ..entry
            });
        }
        Ok(())
    }
}

/// Ends a file and gives it its name.
fn close(
    mut file: SerializedFileWriter<OutputFile>,
    facts: &[(String, String)],
    path: PathBuf,
    replace: bool,
) -> Result<FileEntry, Error> {
    for (key, value) in facts {
        file.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
    }
    let rows = file.flushed_row_groups().iter().map(|group| group.num_rows() as u64).sum();
    // this writes the footer
    let output = file.into_inner()?;
    let error = |error| Error::Source { file: path.display().to_string(), error };
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(error)?;
    if replace
        && let Err(e) = fs::remove_file(&path)
        && e.kind() != ErrorKind::NotFound
    {
        return Err(error(e));
    }
    output.finish(&path)?;
    let bytes = fs::metadata(&path).map_err(error)?.len();
    Ok(FileEntry { rows, bytes, ..FileEntry::default() })
}
