//! Pages as a part of a store: opening, committing, and what a store needs to know of their files.

use std::sync::Arc;

use blockmill_store::{
    CommitPart, Error, Opening, Result,
    part::{Folder, ForeignFormat, ForeignPart},
};

use super::{
    Pages, PagesOptions,
    checkpoint::{number_of_file, numbers},
};

/// Files that are written between two manifests at most, in a sensible setting.
const BETWEEN: u64 = 1 << 12;

/// The format of [`Pages`], for programs that read a store without opening them.
pub static PAGE_FORMAT: PageFormat = PageFormat;

/// See [`PAGE_FORMAT`].
#[derive(Clone, Copy, Debug)]
pub struct PageFormat;

impl ForeignFormat for PageFormat {
    fn number_of_file(&self, file: &str, name: &str) -> Option<u64> {
        number_of_file(file, name)
    }

    fn numbers(&self, facts: &[u8]) -> Vec<u64> {
        numbers(facts)
    }

    fn files_between(&self) -> u64 {
        BETWEEN
    }

    fn bytes(&self, facts: &[u8]) -> u64 {
        Pages::bytes_of(facts)
    }

    fn survey(
        &self,
        folder: &Arc<Folder>,
        name: &str,
        facts: &[u8],
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<Error>> {
        Pages::survey_files(folder, name, facts, watch)
    }
}

impl Pages {
    /// Opens the pages `name` of a store, or creates empty ones.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the file of references is not as written, a file of pages is shorter
    /// than it should be, or when they are there and no manifest is; pages are checked when they
    /// are read. [`Error::Mismatch`] when they were created with pages of another size.
    pub fn open(
        opening: &mut Opening,
        name: &'static str,
        options: &PagesOptions,
    ) -> Result<Pages> {
        let place = opening.foreign(name, &PAGE_FORMAT)?;
        Pages::open_in(&place.folder, name, place.facts.as_deref(), options, place.writes)
    }
}

impl ForeignPart for Pages {
    fn name(&self) -> &str {
        self.name()
    }

    fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    fn prepare(&mut self) -> Result<Vec<u8>> {
        Pages::prepare(self)
    }

    fn finish_commit(&mut self) -> Result<()> {
        Pages::finish_commit(self)
    }
}

impl<'a> From<&'a mut Pages> for CommitPart<'a> {
    fn from(pages: &'a mut Pages) -> Self {
        Self::Foreign(pages)
    }
}
