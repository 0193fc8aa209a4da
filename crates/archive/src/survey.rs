//! Compares the statements of an archive with its files before a block is read.

use crate::{Archive, Error, Survey, Want};

impl Archive {
    /// Compares the statements of the archive with its files: in an ancient folder every index with
    /// the data files, and the tables with each other; of era1 and ere files names and records that
    /// are not checked. Streams state nothing.
    ///
    /// `want` says which parts will be read. Files of the folders that are not read count as a
    /// shortfall if they may have blocks, unless `all` says that every requested block is known to
    /// be in the files that are read.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if a file cannot be opened or read.
    pub fn survey(&self, want: Want, all: bool) -> Result<Survey, Error> {
        let (shortfalls, notes) = self.left_out().judge(all);
        let mut survey = Survey { shortfalls, notes, unchecked: vec![] };
        for file in self.files() {
            (self.format().row().survey)(file, want, &mut survey)?;
        }
        Ok(survey)
    }
}
