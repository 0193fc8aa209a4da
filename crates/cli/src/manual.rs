//! `man` and `completions`: the manual, a page for each command, and completions for a shell.

use crate::answer::Answer;
use crate::args::Force;
use anyhow::{Context, Result, ensure};
use blockmill_platform::files;
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::path::Path;

/// How each of our pages begins, after a few lines of macros.
const TITLE: &[u8] = b".TH blockmill";

/// Writes the manual of `command` into `folder`. Folders of manuals hold those of others: a page is
/// replaced when it is ours.
///
/// # Errors
/// Returns an error if a page would replace another file, or cannot be written.
pub fn run(command: clap::Command, folder: &Path, force: Force) -> Result<Answer> {
    let mut pages = vec![];
    let mut command = command.disable_help_subcommand(true);
    command.build();
    collect(command, &mut pages);
    for page in &pages {
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
    for page in &pages {
        page.generate_to(folder)
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
    print!("{script}");
    Ok(Answer::ok())
}

fn collect(command: clap::Command, pages: &mut Vec<Man>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        collect(below, pages);
    }
    pages.push(Man::new(command));
}
