//! What the end of a round means: that the import waits for more, or that it ends.
//!
//! What `import` calls *incomplete* is to come. What it calls corrupt or invalid ends the import,
//! unless it is the last record of a Bitcoin block file and is half written. An error may come from
//! a file that changed while it was read, so it counts only if the same error comes again, or if no
//! file has changed since the round began.

use crate::answer::{Answer, Payload};
use crate::paths::is_folder;
use anyhow::Result;
use blockmill_archive::Family;
use blockmill_archive::growing::is_being_written;
use blockmill_verdict::{Shortfall, ShortfallKind, Status};
use std::path::{Path, PathBuf};

/// What the end of a round means.
pub enum Verdict {
    /// The archive is read as far as it is whole; more may come. With what is known of it.
    Waits(Vec<String>),
    /// An error, unless a file was changed while it was read.
    Doubtful(String),
    /// The import ends.
    Ends,
}

/// What an import waits for that has stored nothing yet.
const NO_BLOCK: &str = "the archive does not have the first block to store yet";

/// Decides what the answer of a round means.
///
/// # Errors
/// If a file cannot be read.
pub fn of(answer: &Answer, family: Option<Family>, paths: &[PathBuf]) -> Result<Verdict> {
    let message = || answer.error.as_ref().map_or_else(String::new, |error| error.message.clone());
    let is_bitcoin = family == Some(Family::Bitcoin);
    Ok(match answer.status {
        Status::Verified | Status::Ok | Status::Partial => waits(answer),
        Status::Interrupted | Status::Environment => Verdict::Ends,
        Status::Incomplete => match is_bitcoin && has_corrupt_record(answer)? {
            true => Verdict::Doubtful(message()),
            false => waits(answer),
        },
        Status::Unrecognised if has_folder(paths)? => match has_no_block(answer) {
            true => Verdict::Waits(vec![NO_BLOCK.into()]),
            false => waits(answer),
        },
        Status::Corrupt | Status::Invalid => {
            let error = answer.error.as_ref();
            match error.and_then(|error| Some((error.file.as_deref()?, error.offset?))) {
                Some((file, offset)) if is_bitcoin && is_being_written(file, offset)? => {
                    Verdict::Waits(vec![cut(file, offset)])
                }
                _ => Verdict::Doubtful(message()),
            }
        }
        _ => Verdict::Doubtful(message()),
    })
}

/// Whether a round recognised the files, but found no block that can be stored.
fn has_no_block(answer: &Answer) -> bool {
    let Some(Payload::Record(record)) = &answer.result else { return false };
    let is_of_block = answer.error.as_ref().is_some_and(|error| error.block.is_some());
    record.result.committed.is_none() && !is_of_block
}

/// Whether one of the paths is a folder, which may get files.
fn has_folder(paths: &[PathBuf]) -> Result<bool> {
    for path in paths {
        if is_folder(path)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits for what the archive lacks.
fn waits(answer: &Answer) -> Verdict {
    let mut waiting: Vec<_> = answer.shortfalls.iter().map(sentence).collect();
    if let (true, Some(error)) = (waiting.is_empty(), &answer.error) {
        waiting.push(error.message.clone());
    }
    Verdict::Waits(waiting)
}

/// Whether a block file has a record that cannot be used and is not being written.
fn has_corrupt_record(answer: &Answer) -> Result<bool> {
    for shortfall in &answer.shortfalls {
        let Shortfall { kind, file: Some(file), offset: Some(offset), .. } = shortfall else {
            continue;
        };
        let is_record = matches!(kind, ShortfallKind::Cut | ShortfallKind::CorruptRecord);
        if is_record && !is_being_written(file, *offset)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is missing, for the user.
fn sentence(shortfall: &Shortfall) -> String {
    match (shortfall.kind, &shortfall.file, shortfall.offset) {
        (ShortfallKind::Cut | ShortfallKind::CorruptRecord, Some(file), Some(offset)) => {
            format!("{}: {}", cut(file, offset), shortfall.text)
        }
        _ => shortfall.to_string(),
    }
}

/// The sentence about a record that is not whole.
pub fn cut(file: &Path, offset: u64) -> String {
    format!("{} ends in the middle of a record at byte {offset}", file.display())
}
