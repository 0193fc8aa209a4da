//! What an archive says about itself, compared with what is there, before a block is read.

use chain::{Shortfall, ShortfallKind};

use crate::inspect::{Damage, FileReport, TableReport};
use crate::{Archive, Error, Format, Place, Want, block_store, era1, freezer};

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
    /// with the data files and the tables with each other, just as [`crate::inspect()`] does, so
    /// that both have the same verdict; of era1 files names and unknown records. Streams state
    /// nothing. `want` says what will be read: other tables are named as not checked.
    pub fn survey(&self, want: Want) -> Survey {
        let mut survey = Survey::default();
        for file in self.files() {
            match self.format() {
                Format::Era1 => survey.notes.extend(era1::notes(file)),
                Format::Freezer => {
                    let mut report = FileReport::default();
                    freezer::inspect(file, false, &mut report);
                    survey.shortfalls.extend(report.damage.iter().map(Shortfall::from));
                    survey.notes.extend(report.notes);
                    survey.notes.extend(unread(&report.tables, want));
                }
                Format::Store => survey.notes.extend(block_store::notes(file)),
                Format::RlpExport | Format::HeaderStream => {}
            }
        }
        survey
    }
}

/// Tables whose items are not looked at.
fn unread(tables: &[TableReport], want: Want) -> Option<String> {
    let is_unread = |table: &&TableReport| match &*table.name {
        "bodies" | "bals" => !want.bodies,
        "receipts" => !want.receipts,
        _ => false,
    };
    let names = tables.iter().filter(|table| table.items > 0).filter(is_unread);
    let names: Vec<_> = names.map(|table| &*table.name).collect();
    let text = || format!("not checked at this level: what stands in {}", names.join(", "));
    (!names.is_empty()).then(text)
}

impl From<&Damage> for Shortfall {
    fn from(damage: &Damage) -> Self {
        at(damage.kind, &damage.text, damage.place.as_ref())
    }
}

impl From<&Error> for Shortfall {
    fn from(error: &Error) -> Self {
        let shortfall = at(error.shortfall_kind(), &error.to_string(), error.place());
        match error {
            Error::Gap { expected, found, .. } => {
                shortfall.of_blocks(found.saturating_sub(*expected))
            }
            _ => shortfall,
        }
    }
}

/// A shortfall whose text names its place, which is given in parts instead.
fn at(kind: ShortfallKind, text: &str, place: Option<&Place>) -> Shortfall {
    let Some(place) = place else { return Shortfall::new(kind, text) };
    let text = text.strip_prefix(&format!("{place}: ")).unwrap_or(text);
    Shortfall::new(kind, text).at(&place.file, place.offset)
}
