//! The command that a user may need after a run.

use blockmill_pipeline::record::RunRecord;
use blockmill_report::runs::shell;
use blockmill_verdict::Status;
use std::path::{Path, PathBuf};

/// Paths that are shown in full.
const SHOWN: usize = 3;

/// What comes after a run of `verb` over `paths`, whose record is in a file or not.
pub fn after(
    record: &RunRecord,
    verb: &str,
    paths: &[PathBuf],
    saved: Option<&Path>,
) -> Option<String> {
    match record.result.status {
        Status::Verified | Status::Partial if verb == "import" => saved.map(report_of),
        Status::Verified | Status::Partial if verb == "verify" => Some(command(&["import"], paths)),
        Status::Corrupt => Some(command(&["inspect", "--deep"], paths)),
        Status::Incomplete if record.data.blocks > 0 => {
            Some("the same command with --partial, if there is no more".to_owned())
        }
        _ => None,
    }
}

/// The command that shows a record.
pub fn report_of(record: &Path) -> String {
    command(&["report"], &[record.to_owned()])
}

/// A command line over these paths, or the first of them.
pub fn command(words: &[&str], paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(SHOWN).map(|path| path.display().to_string());
    let words = ["blockmill"].into_iter().chain(words.iter().copied()).map(str::to_owned);
    let rest = if paths.len() > SHOWN { " ..." } else { "" };
    shell(&words.chain(shown).collect::<Vec<_>>()) + rest
}
