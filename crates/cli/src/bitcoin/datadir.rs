//! The end of `inspect` of block files, and the results of `--deep` for the datadir around them:
//! block index, undo files, chainstate.

use super::inspect::{SHOWN, print_some};
use crate::answer::Answer;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_bitcoin::datadir::{CheckedDatadir, DatadirPart};
use blockmill_bitcoin::index::WrongLength;
use blockmill_bitcoin::inspect::{Inspection, Meaning};
use blockmill_report::counted;
use blockmill_verdict::{FaultReport, Shortfall, Status, grouped};
use serde_json::{Value, json};

/// The status, with corrupt length fields and files that are missing.
pub(super) fn answer(files: &BlockFiles, inspection: &Inspection) -> Answer {
    let mut wrong = inspection.wrong_lengths();
    let error = wrong.next().map(WrongLength::report);
    let notes = wrong.take(SHOWN).map(ToString::to_string).collect();
    let lacks = inspection.places.iter().filter_map(|place| match &place.meaning {
        Meaning::Lack(kind) => {
            let path = files.files().get(place.file as usize)?.path();
            Some(
                Shortfall::new(*kind, place.corruption.to_string())
                    .at(path, place.corruption.offset),
            )
        }
        Meaning::Length(_) | Meaning::Nothing(_) => None,
    });
    let shortfalls = lacks.take(SHOWN).chain(inspection.lacks.iter().cloned()).collect();
    let status = match inspection.status() {
        Status::Ok if !files.left_out().unread().is_empty() => Status::Incomplete,
        status => status,
    };
    Answer { error, notes, shortfalls, ..Answer::with_status(status) }
}

/// Can the coins be read?
pub(super) fn is_readable(checked: &CheckedDatadir) -> bool {
    checked.corruption.iter().all(|(part, _)| *part == DatadirPart::Undo)
}

/// The answer, with the corruption of the datadir around the block files.
pub(super) fn with_datadir(answer: Answer, checked: Option<&CheckedDatadir>) -> Answer {
    let Some(checked) = checked.filter(|checked| checked.corruption_count > 0) else {
        return answer;
    };
    let mut corruption = checked.corruption.iter().take(SHOWN).map(|(part, error)| {
        let message = format!("corrupt {}: {error}", part.name());
        let (file, offset) = error.place();
        FaultReport { file, offset, ..FaultReport::new(message) }
    });
    let error = answer.error.or_else(|| corruption.next());
    let notes = answer.notes.into_iter().chain(corruption.map(|report| report.message)).collect();
    Answer { status: Status::Corrupt, error, notes, ..answer }
}

/// Shows what the check found.
pub(super) fn print_datadir(checked: &CheckedDatadir) {
    let indexed = counted(checked.indexed, "block");
    let (undo, coins) = (grouped(checked.undo_blocks), counted(checked.coins, "coin"));
    println!("datadir: index of {indexed}, undo data of {undo}, {coins}: checksums read");
    print_some(&checked.corruption, |(part, error)| println!("CORRUPT: {}: {error}", part.name()));
}

/// The results as JSON.
pub(super) fn json_datadir(checked: &CheckedDatadir) -> Value {
    let corruption = checked.corruption.iter().map(|(part, error)| {
        let (file, offset) = error.place();
        let file = file.map(|file| file.display().to_string());
        let (part, text) = (part.name(), error.to_string());
        json!({ "part": part, "file": file, "offset": offset, "text": text })
    });
    json!({
        "indexed": checked.indexed,
        "undo_blocks": checked.undo_blocks,
        "coins": checked.coins,
        "corruption": corruption.collect::<Vec<_>>(),
        "corruption_count": checked.corruption_count,
    })
}
