//! Continues an export: adds files with later blocks to those of its manifest.
//!
//! New files are written aside, next to the folder. They get their places when all of them are
//! complete and their blocks are verified; then the manifest is replaced in one step. A reader that
//! goes by the manifest sees the export before or after that, whatever interrupts the run.

use crate::error::Error;
use crate::export::{Facts, LastBlock};
use crate::manifest::{FileEntry, Manifest, NAME, SCHEMA};
use crate::partition::{PartitionBy, range_of};
use crate::schema::Table;
use blockmill_archive::output::OutputFolder;
use blockmill_platform::files;
use blockmill_verdict::Level;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An export that a run continues.
#[derive(Debug)]
pub struct Append {
    folder: PathBuf,
    manifest: Manifest,
    aside: PathBuf,
    new: Mutex<Option<OutputFolder>>,
}

impl Append {
    /// Opens the export in `folder`, to see what a run would continue.
    ///
    /// # Errors
    /// When there is no export, or the system refuses.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(NAME);
        if !files::is_there(&path).map_err(|error| source(&path, error))? {
            return Err(other(folder, &format!("an export with {NAME} to continue"), "none"));
        }
        let manifest = Manifest::read(folder)?;
        if manifest.schema != SCHEMA {
            let version = |schema| format!("a manifest of schema {schema}");
            return Err(other(folder, &version(SCHEMA), &version(manifest.schema)));
        }
        let (folder, aside) = (folder.to_path_buf(), PathBuf::new());
        Ok(Self { folder, manifest, aside, new: Mutex::default() })
    }

    /// Begins to continue the export in `folder`. Returns it with the files that an interrupted run
    /// had added and that no manifest lists; they are removed.
    ///
    /// # Errors
    /// When there is no export, another process continues it, or the system refuses.
    pub fn begin(folder: &Path) -> Result<(Self, Vec<PathBuf>), Error> {
        let read = Self::read(folder)?;
        let new = OutputFolder::for_files_in(folder)?;
        let removed = remove_unlisted(folder, &read.manifest)?;
        let aside = new.path().to_path_buf();
        Ok((Self { aside, new: Mutex::new(Some(new)), ..read }, removed))
    }

    /// The folder of the export.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder in which new files are written.
    #[must_use]
    pub fn aside(&self) -> &Path {
        &self.aside
    }

    /// The last block of the export.
    #[must_use]
    pub fn last_block(&self) -> LastBlock {
        LastBlock { number: self.manifest.last, hash: self.manifest.tip.clone() }
    }

    /// How deep its blocks were verified.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        Level::named(&self.manifest.level)
    }

    /// Checks that a run writes what the export has: the same chain, level, rules, partitions and
    /// tables, with the same columns.
    ///
    /// # Errors
    /// For the first difference.
    pub fn expect_same(&self, facts: &Facts, tables: &[&'static Table]) -> Result<(), Error> {
        let had = &self.manifest;
        let by = PartitionBy::default().to_string();
        let names = self.tables().into_iter().collect::<Vec<_>>().join(", ");
        let asked: BTreeSet<_> = tables.iter().map(|table| table.name).collect();
        let asked = asked.into_iter().collect::<Vec<_>>().join(", ");
        for (what, expected, found) in [
            ("chain", &had.chain, &facts.chain),
            ("genesis", &had.genesis, &facts.genesis),
            ("level", &had.level, &facts.level.to_owned()),
            ("rules", &had.rules, &facts.rules),
            ("partitions by", had.partition.as_ref().unwrap_or(&by), &facts.partition.to_string()),
            ("tables", &names, &asked),
        ] {
            if expected != found {
                let (expected, found) = (format!("{what} {expected}"), format!("{what} {found}"));
                let found = format!("{found}: --append needs the options of the export");
                return Err(other(&self.folder, &expected, &found));
            }
        }
        tables.iter().try_for_each(|table| self.expect_columns(facts, table))
    }

    fn tables(&self) -> BTreeSet<&str> {
        self.manifest.files.iter().map(|file| &*file.table).collect()
    }

    /// Checks the columns of the last file of a table.
    fn expect_columns(&self, facts: &Facts, table: &'static Table) -> Result<(), Error> {
        let mut files = self.manifest.files.iter().rev();
        let Some(entry) = files.find(|file| file.table == table.name) else { return Ok(()) };
        let path = self.folder.join(&entry.file);
        let file = File::open(&path).map_err(|error| source(&path, error))?;
        let metadata = ArrowReaderMetadata::load(&file, Default::default())?;
        if metadata.schema().fields() == table.schema(facts.form).fields() {
            return Ok(());
        }
        let found = "other ones: --hex or --names differs, or another version wrote the file";
        Err(other(&path, "the columns of this run", found))
    }

    /// Adds the files of `new`, the manifest of the run, to the export. Returns them.
    ///
    /// # Errors
    /// When the archive ends before the export, or the system refuses.
    pub fn finish(&self, new: Manifest) -> Result<Vec<FileEntry>, Error> {
        let had = &self.manifest;
        if new.last < had.last {
            let expected =
                format!("an archive with block {}, the last one of the export", had.last);
            let found = format!("one that ends with block {}", new.last);
            return Err(other(&self.folder, &expected, &found));
        }
        let aside = self.new.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(aside) = aside.filter(|_| !new.files.is_empty()) else { return Ok(vec![]) };
        aside.add_files()?;
        let added = new.files.clone();
        let is_partial = [had, &new].iter().any(|manifest| manifest.verified == "partial");
        let manifest = Manifest {
            verified: if is_partial { "partial" } else { "chain" }.into(),
            first: had.first,
            anchor: had.anchor.clone(),
            files: had.files.iter().cloned().chain(new.files.clone()).collect(),
            ..new
        };
        manifest.replace(&self.folder)?;
        Ok(added)
    }
}

fn source(path: &Path, error: std::io::Error) -> Error {
    Error::Source { file: path.display().to_string(), error }
}

/// The error of an export that a run does not continue.
fn other(folder: &Path, expected: &str, found: &str) -> Error {
    let folder = folder.display().to_string();
    Error::Continued { folder, expected: expected.into(), found: found.into() }
}

/// Removes the files of later blocks that a manifest does not list: those of a run that was
/// interrupted before it replaced the manifest.
fn remove_unlisted(folder: &Path, manifest: &Manifest) -> Result<Vec<PathBuf>, Error> {
    let listed: BTreeSet<_> = manifest.files.iter().map(|file| folder.join(&file.file)).collect();
    let tables: BTreeSet<_> = manifest.files.iter().map(|file| &*file.table).collect();
    let mut folders = vec![folder.to_path_buf()];
    for table in &tables {
        folders.extend(list(&folder.join(table))?);
    }
    let mut removed = vec![];
    for path in folders.iter().map(|folder| list(folder)).collect::<Result<Vec<_>, _>>()?.concat() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut ranges = tables.iter().filter_map(|table| range_of(&manifest.chain, table, name));
        let is_later = ranges.next().is_some_and(|(first, _)| first > manifest.last);
        if is_later && !listed.contains(&path) {
            fs::remove_file(&path).map_err(|error| source(&path, error))?;
            removed.push(path);
        }
    }
    Ok(removed)
}

/// The paths in a folder, in order; empty if it is none.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_folder = files::is_folder(folder).map_err(|error| source(folder, error))?;
    let paths = if is_folder { files::list(folder) } else { Ok(vec![]) };
    let mut paths = paths.map_err(|error| source(folder, error))?;
    paths.sort();
    Ok(paths)
}
