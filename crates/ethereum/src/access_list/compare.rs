//! Two block access lists compared: that of a block, and the one that execution recorded.

use super::entries::{Entry, EntryKey, entries};
use blockmill_rlp::ethereum::AccountChanges;
use blockmill_rlp::{Decode, Error, List};
use std::cmp::Ordering;

/// The first entry in which two lists differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The entry.
    pub entry: EntryKey,
    /// What the first list says.
    pub expected: String,
    /// What the second list says.
    pub found: String,
}

/// Finds the first entry in which two encoded lists differ; `None` if they have the same entries.
/// Both are in order ([`super::check`]): of two lists that are not, it finds some difference.
///
/// # Errors
/// [`Error`] of the list that is no block access list.
pub fn first_difference(expected: &[u8], found: &[u8]) -> Result<Option<Difference>, Error> {
    let mut expected = entries(&List::<AccountChanges<'_>>::decode(expected)?);
    let mut found = entries(&List::<AccountChanges<'_>>::decode(found)?);
    loop {
        let difference = match (expected.next(), found.next()) {
            (None, None) => return Ok(None),
            (Some(expected), None) => lacking(&expected),
            (None, Some(found)) => surplus(&found),
            (Some(expected), Some(found)) => match expected.key.cmp(&found.key) {
                Ordering::Less => lacking(&expected),
                Ordering::Greater => surplus(&found),
                Ordering::Equal if expected.value == found.value => continue,
                Ordering::Equal => Difference {
                    entry: expected.key,
                    expected: expected.value.to_string(),
                    found: found.value.to_string(),
                },
            },
        };
        return Ok(Some(difference));
    }
}

/// The second list lacks an entry.
fn lacking(entry: &Entry<'_>) -> Difference {
    Difference { entry: entry.key, expected: entry.value.to_string(), found: "no entry".into() }
}

/// The second list has an entry that the first one lacks.
fn surplus(entry: &Entry<'_>) -> Difference {
    Difference { entry: entry.key, expected: "no entry".into(), found: entry.value.to_string() }
}
