//! The command that a user may need after a run.

use crate::args::Verification;
use blockmill_archive::is_pipe;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::runs::shell;
use blockmill_verdict::{Level, Status};
use std::path::{Path, PathBuf};

/// Paths that are shown in full.
const SHOWN: usize = 3;

/// The name of the format of headers that no command can import.
const BITCOIN_HEADERS: &str = "btc-headers";

/// What a run was asked for: the part that the next command needs, too.
pub struct Asked {
    /// `import`, `verify` or another command.
    pub verb: &'static str,
    /// The last block, if not all of them were asked for.
    pub until: Option<u64>,
    /// May anything be missing?
    pub partial: bool,
    paths: Vec<PathBuf>,
    /// Flags without which an import may refuse the archive.
    flags: Vec<String>,
    /// Flags without which no command can read the paths.
    reading: Vec<String>,
}

impl Asked {
    /// What `verb` was asked for.
    pub fn new(verb: &'static str, args: &Verification) -> Self {
        let mut flags: Vec<String> = [
            ("--chain", args.chain.clone()),
            ("--level", args.level.map(Level::name).map(str::to_owned)),
            ("--seal", args.seal.clone()),
            ("--from", args.from.map(|number| number.to_string())),
            ("--until", args.until.map(|number| number.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some([name.to_owned(), value?]))
        .flatten()
        .collect();
        flags.extend(args.partial.then(|| "--partial".to_owned()));
        let manifest = args.remote.manifest.iter().map(|path| path.display().to_string());
        let reading = manifest.flat_map(|path| ["--manifest".to_owned(), path]).collect();
        let (until, partial) = (args.until, args.partial);
        Self { verb, until, partial, paths: args.paths.clone(), flags, reading }
    }

    /// A command line over the same paths. `None` if they can be read only once.
    fn again(&self, words: &[&str], flags: &[String]) -> Option<String> {
        let flags = flags.iter().chain(&self.reading).map(String::as_str);
        let words: Vec<_> = words.iter().copied().chain(flags).collect();
        let is_gone = self.paths.iter().any(|path| is_pipe(path));
        (!is_gone).then(|| command(&words, &self.paths))
    }
}

/// What comes after a run, whose record is in a file or not.
pub fn after(record: &RunRecord, asked: &Asked, saved: Option<&Path>) -> Option<String> {
    match record.result.status {
        Status::Verified | Status::Partial if asked.verb == "import" => saved.map(report_of),
        Status::Verified | Status::Partial if asked.verb == "verify" => {
            let is_refused = record.data.format == BITCOIN_HEADERS;
            if is_refused { None } else { asked.again(&["import"], &asked.flags) }
        }
        Status::Corrupt => asked.again(&["inspect", "--deep"], &[]),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use blockmill_pipeline::record::Program;
    use clap::Parser;

    /// The import that a verification with these words proposes.
    fn import_after(words: &str) -> Option<String> {
        let words = ["blockmill", "verify"].into_iter().chain(words.split(' '));
        let Ok(Cli { command: Command::Verify(args), .. }) = Cli::try_parse_from(words) else {
            panic!("expected verify")
        };
        let asked = Asked::new("verify", &args.verification);
        let mut record = RunRecord::new(Program::default(), "verify");
        record.result.status = Status::Verified;
        after(&record, &asked, None)
    }

    #[test]
    fn an_import_has_the_flags_that_the_archive_needs() {
        for flags in [
            "",
            " --chain genesis.json",
            " --level bodies --seal off",
            " --from 5 --until 9",
            " --chain regtest --from 5 --partial",
            " --manifest list",
        ] {
            let found = import_after(&format!("a.rlp --threads 1{flags}")).unwrap();
            assert_eq!(found, format!("blockmill import{flags} a.rlp"));
        }
        let found = import_after("a b c d --partial").unwrap();
        assert_eq!(found, "blockmill import --partial a b c ...");
    }

    #[test]
    fn what_can_be_read_only_once_is_not_read_again() {
        assert_eq!(import_after("-"), None);
        assert_eq!(import_after("- --chain mainnet"), None);
    }
}
