//! `man` and `completions`: the manual, a page for each command, and completions for a shell.

pub(crate) mod pages;

use crate::answer::Answer;
use crate::args::Force;
use crate::print;
use anyhow::{Context, Result, ensure};
use blockmill_platform::files;
use blockmill_verdict::Status;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::path::Path;
use std::{fs, io};

/// What a page has that the command line does not give.
#[derive(Debug)]
pub struct Page {
    /// The path of the command, such as `blockmill generate neo`.
    pub command: &'static str,
    /// Paths of commands to read about next.
    pub see: &'static [&'static str],
    /// Tasks, each with its command lines.
    pub examples: &'static [(&'static str, &'static str)],
}

/// What each exit code means.
const EXIT_CODES: [(Status, &str); 8] = [
    (Status::Ok, "Success: everything that was asked for was done, and nothing is wrong."),
    (Status::Invalid, "Invalid: a block breaks a rule of its chain."),
    (Status::Usage, "Usage: the command line, the config file or the choice of files is wrong."),
    (Status::Incomplete, "Incomplete: blocks are missing, not connected or truncated."),
    (Status::Corrupt, "Corrupt: stored bytes differ from those that were written."),
    (Status::Environment, "Environment: this machine failed: disk full, permissions, memory."),
    (Status::Unrecognised, "Unrecognised: no readable archive or store was found."),
    (Status::Interrupted, "Interrupted: the user stopped the command."),
];

/// How each of our pages begins, after a few lines of macros.
const TITLE: &[u8] = b".TH blockmill";

/// Writes the manual of `command` into `folder`, with `extra` for each page. A page of another
/// program with the same name is not replaced.
///
/// # Errors
/// Returns an error if a page would replace another file, or cannot be written.
pub fn run(command: clap::Command, extra: &[Page], folder: &Path, force: Force) -> Result<Answer> {
    let mut pages = vec![];
    let mut command = command.disable_help_subcommand(true);
    command.build();
    collect(command, "", &mut pages);
    for (page, _) in &pages {
        let path = folder.join(page.get_filename());
        let is_ours = |text: Vec<u8>| text.windows(TITLE.len()).any(|part| part == TITLE);
        let found = files::if_there(&path, fs::read(&path));
        let may_go = force.force
            || found
                .with_context(|| format!("cannot read {}", path.display()))?
                .is_none_or(is_ours);
        let path = path.display();
        ensure!(may_go, "{path}: expected one of our pages, or --force, found another file");
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (page, command) in &pages {
        let extra = extra.iter().find(|extra| extra.command == command);
        text(page, extra)
            .and_then(|text| fs::write(folder.join(page.get_filename()), text))
            .with_context(|| format!("cannot write man pages to {}", folder.display()))?;
    }
    Ok(Answer::ok())
}

/// Prints completions of `command` for a shell.
///
/// # Errors
/// Returns an error if the script is not valid JSON text.
pub fn completions(mut command: clap::Command, shell: Shell, json: bool) -> Result<Answer> {
    let name = command.get_name().to_owned();
    // the generator panics when it cannot write, so it writes to memory
    let mut script = vec![];
    clap_complete::generate(shell, &mut command, name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if json {
        return Answer::ok().with(script);
    }
    print::raw(format_args!("{script}"));
    Ok(Answer::ok())
}

/// Collects the pages of a command and of those below it, with their paths.
fn collect(command: clap::Command, before: &str, pages: &mut Vec<(Man, String)>) {
    let path = format!("{before}{}", command.get_name());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        collect(below, &format!("{path} "), pages);
    }
    pages.push((Man::new(command), path));
}

/// The text of a page.
fn text(page: &Man, extra: Option<&Page>) -> io::Result<Vec<u8>> {
    let mut text = vec![];
    page.render(&mut text)?;
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in EXIT_CODES {
        item(&mut roff, &status.exit_code().to_string(), meaning);
    }
    roff.control("SH", ["ENVIRONMENT"]);
    item(&mut roff, "RUST_LOG", "Events to log, such as blockmill=debug. Off by default.");
    roff.control("SH", ["FILES"]);
    item(&mut roff, "blockmill.toml", "Flags of each command, in the current folder.");
    item(&mut roff, "blockmill-data", "Store of an import without --data.");
    item(&mut roff, "blockmill-data/records", "Run records of these imports.");
    if let Some(extra) = extra {
        roff.control("SH", ["EXAMPLES"]);
        for (task, lines) in extra.examples {
            roff.control("PP", []).text([roman(*task)]);
            roff.control("PP", []).control("nf", []).control("RS", ["4"]);
            for line in lines.lines() {
                roff.text([roman(line)]);
            }
            roff.control("RE", []).control("fi", []);
        }
        roff.control("SH", ["SEE ALSO"]);
        let (last, others) = extra.see.split_last().unwrap_or((&"", &[]));
        others.iter().for_each(|other| reference(&mut roff, other, ","));
        reference(&mut roff, last, "");
    }
    roff.to_writer(&mut text)?;
    Ok(text)
}

/// A term and what it means.
fn item(roff: &mut Roff, term: &str, meaning: &str) {
    roff.control("TP", []).text([bold(term)]).text([roman(meaning)]);
}

/// The name of the page of a command.
fn reference(roff: &mut Roff, command: &str, after: &str) {
    roff.text([bold(command.replace(' ', "-")), roman(format!("(1){after}"))]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::documented;

    #[test]
    fn every_exit_code_is_explained() {
        let mut codes: Vec<_> = Status::ALL.iter().map(|status| status.exit_code()).collect();
        codes.dedup();
        assert_eq!(EXIT_CODES.map(|(status, _)| status.exit_code())[..], codes);
    }

    #[test]
    fn every_page_has_the_chapters_of_a_manual() {
        let folder = tempfile::tempdir().unwrap();
        run(documented(), pages::PAGES, folder.path(), Force::default()).unwrap();
        let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), pages::PAGES.len());
        for file in files {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            for chapter in
                ["NAME", "SYNOPSIS", "\"EXIT STATUS\"", "FILES", "EXAMPLES", "\"SEE ALSO\""]
            {
                assert_eq!(text.matches(&format!(".SH {chapter}\n")).count(), 1, "{text}");
            }
        }
    }
}
