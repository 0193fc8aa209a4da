//! Compares the statements of an archive with its files before a block is read.

use crate::{Archive, Error, Survey, Want};

impl Archive {
    /// Compares the statements of the archive with what is there: of an ancient folder every index
    /// with the data files and the tables with each other; of era1 files names and unknown records.
    /// Streams state nothing. `want` says what will be read. Files of the folders that are not read
    /// may hold blocks, unless `all` that was asked for is known to be in those that are.
    ///
    /// # Errors
    /// When a file cannot be opened or read.
    pub fn survey(&self, want: Want, all: bool) -> Result<Survey, Error> {
        let (shortfalls, notes) = self.left_out().judge(all);
        let mut survey = Survey { shortfalls, notes };
        for file in self.files() {
            (self.format().row().survey)(file, want, &mut survey)?;
        }
        Ok(survey)
    }
}
