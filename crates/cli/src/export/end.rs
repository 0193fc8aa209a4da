//! The end of an export: what was written, and what a reader of the tables should know.

use super::{Asked, Job, To};
use crate::answer::{Answer, Payload};
use crate::{paths, stop};
use anyhow::Result;
use blockmill_export::schema::{Column, Table};
use blockmill_export::{FileEntry, MANIFEST, is_ours};
use blockmill_pipeline::record::RunRecord;
use blockmill_report::wrap;
use blockmill_verdict::{Level, Status, counted, grouped};
use serde_json::json;
use std::path::{Path, PathBuf};

impl Job {
    /// The answer of an export whose run has `answer`; `files` were written if it was complete.
    pub fn answer(
        &self,
        asked: &Asked<'_>,
        answer: Answer,
        files: &[FileEntry],
        json: bool,
    ) -> Result<Answer> {
        let Some(to) = asked.to.folder() else { return Ok(answer) };
        let complete = answer.status.is_success();
        let kept = if complete { None } else { self.kept(asked, to)? };
        let mut answer = Answer { kept: answer.kept.or(kept), ..answer };
        let to = to.display().to_string();
        let notes: Vec<_> = match complete {
            true => self.again(asked, &answer).into_iter().chain(self.nulls()).collect(),
            false => vec![],
        };
        if json {
            let verified = match (complete, answer.status) {
                (true, Status::Partial) => "partial",
                (true, _) => "chain",
                (false, _) => "partition",
            };
            answer.notes.extend(notes);
            return answer.with(json!({ "to": to, "verified": verified, "files": files }));
        }
        if complete {
            print_files(asked, &to, files);
            notes.iter().for_each(|note| print_folded(note));
        }
        Ok(answer)
    }

    /// A sentence that names the columns without values at the level of the run, if there are any.
    pub fn nulls(&self) -> Option<String> {
        let level = Level::named(self.export.facts().level)?;
        let form = self.export.facts().form;
        let of = |table: &'static Table| {
            let columns = table.columns.iter();
            columns.filter_map(move |column| Some((table.name, column, column.null_at(level)?)))
        };
        let nulls: Vec<_> = self.tables.iter().copied().flat_map(of).collect();
        let needed = nulls.iter().map(|(_, _, needed)| *needed).max()?;
        let from_the_first = match needed {
            Level::Execution => ", for an archive that begins with the first block,",
            Level::Headers | Level::Bodies => "",
        };
        let name = |(table, column, _): &(&str, &Column, Level)| {
            format!("{table}.{}", form.name_of(column))
        };
        let names = nulls.iter().map(name).collect::<Vec<_>>().join(", ");
        let [level, needed] = [level, needed].map(Level::name);
        Some(format!(
            "Null at level {level}: {names}. --level {needed}{from_the_first} fills them."
        ))
    }

    /// Describes what an export leaves that did not complete: nothing, where no partition did.
    fn kept(&self, asked: &Asked<'_>, to: &Path) -> Result<Option<String>> {
        let is_table = |path: &Path| self.tables.iter().any(|table| path.ends_with(table.name));
        let is_ours = |path: &PathBuf| is_ours(path) || is_table(path);
        let has_files = matches!(asked.to, To::Append(_)) || paths::list(to)?.iter().any(is_ours);
        if !has_files {
            stop::leaves("nothing was written");
        }
        Ok(has_files.then(|| asked.to.kept("the files")))
    }

    /// A sentence about the blocks of a continued export that were verified again, if any were.
    fn again(&self, asked: &Asked<'_>, answer: &Answer) -> Option<String> {
        let To::Append(append) = &asked.to else { return None };
        let (last, first) = (append.last_block(), record(answer)?.data.first);
        if first > last.number {
            return None;
        }
        let [from, to] = [first, last.number].map(grouped);
        let range = format!("Blocks {from} to {to} of the export were verified again");
        Some(match self.begins_anywhere {
            true => format!(
                "{range}: --from {} begins after them, and relies on the export.",
                last.next()
            ),
            false => {
                let level = self.export.facts().level;
                format!(
                    "{range}: level {level} needs what they left, which an export does not keep."
                )
            }
        })
    }
}

fn record(answer: &Answer) -> Option<&RunRecord> {
    match &answer.result {
        Some(Payload::Record(record)) => Some(record),
        _ => None,
    }
}

/// Prints the files of each table.
fn print_files(asked: &Asked<'_>, to: &str, files: &[FileEntry]) {
    let mut tables: Vec<&str> = vec![];
    for file in files {
        if !tables.contains(&&*file.table) {
            tables.push(&file.table);
        }
    }
    for table in tables {
        let own = || files.iter().filter(|file| file.table == table);
        let rows = grouped(own().map(|file| file.rows).sum());
        let bytes = grouped(own().map(|file| file.bytes).sum());
        let count = counted(own().count() as u64, "file");
        print_folded(&format!("{table}: {rows} rows in {count}, {bytes} bytes"));
    }
    match &asked.to {
        To::Append(append) if files.is_empty() => {
            let last = grouped(append.last_block().number);
            print_folded(&format!("nothing new: the export in {to} has all blocks up to {last}"));
        }
        _ => print_folded(&format!("wrote {to}; {MANIFEST} says what was verified")),
    }
}

/// Prints text in lines that fit the terminal.
fn print_folded(text: &str) {
    println!("{}", wrap(text, blockmill_report::width(), "  "));
}
