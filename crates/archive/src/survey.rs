//! What an archive says about itself, compared with what is there, before a block is read.

use blockmill_verdict::{Location, Shortfall, ShortfallKind};

use crate::inspect::Corruption;
use crate::{Archive, Error, Want};

/// What is known of an archive before its blocks are read.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// What its parts say is missing or cannot be used. Blocks that are read may all be good.
    pub shortfalls: Vec<Shortfall>,
    /// What a user should know, such as a name that does not fit the content.
    pub notes: Vec<String>,
}

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

impl From<&Corruption> for Shortfall {
    fn from(damage: &Corruption) -> Self {
        at(damage.kind, &damage.text, damage.location.as_ref())
    }
}

impl From<&Error> for Shortfall {
    fn from(error: &Error) -> Self {
        let shortfall = at(error.shortfall_kind(), &error.to_string(), error.location());
        match error {
            Error::Gap { expected, found, .. } => {
                shortfall.of_blocks(found.saturating_sub(*expected))
            }
            _ => shortfall,
        }
    }
}

/// A shortfall whose text names its location, which is given in parts instead.
fn at(kind: ShortfallKind, text: &str, location: Option<&Location>) -> Shortfall {
    let Some(location) = location else { return Shortfall::new(kind, text) };
    let text = text.strip_prefix(&format!("{location}: ")).unwrap_or(text);
    Shortfall::new(kind, text).at(&location.file, location.offset)
}
