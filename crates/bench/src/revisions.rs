//! Programs of other revisions: which ones a history names, and their builds, each in a checkout of
//! its own.

use crate::experiment::THIS;
use crate::process::{last_line, watch};
use crate::scratch::remove;
use anyhow::{Context, Result, bail, ensure};
use blockmill_platform::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most programs of a history. Each is built, and runs twice in every block of runs.
const MOST_PROGRAMS: usize = 32;

/// A program that runs measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurer {
    path: PathBuf,
    /// Whether measuring is its command `bench`, as in revisions without `blockmill-bench`.
    is_product: bool,
}

impl Measurer {
    /// The program `blockmill-bench` in `path`.
    #[must_use]
    pub fn of_today(path: PathBuf) -> Self {
        Self { path, is_product: false }
    }

    /// The command that runs the job in a file.
    #[must_use]
    pub fn job(&self, file: &Path) -> Command {
        let mut command = self.command();
        command.arg("--job").arg(file);
        command
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(self.is_product.then_some("bench"));
        command
    }

    /// Does it run jobs?
    fn runs_jobs(&self) -> bool {
        let ended = watch(self.command().arg("--help"));
        ended.is_ok_and(|ended| ended.stdout.contains("--precision"))
    }
}

/// The programs that `arguments` name, in their order. A range `A..B` means `A` and every
/// commit after it up to `B`, without those of merged branches, the oldest first; each by its short
/// hash, and only once. Other arguments stay as they are: a revision of the repository in
/// `repository`, or [`THIS`].
///
/// # Errors
/// Returns an error if git does not know a revision, if a range has no commit after its first, or
/// if there are fewer than two programs or more than 32.
pub fn expand(repository: &Path, arguments: &[String]) -> Result<Vec<String>> {
    let mut programs: Vec<String> = vec![];
    // short hashes: a range may begin where another one or a single revision ends
    let mut seen = vec![];
    for argument in arguments {
        if argument == THIS {
            programs.push(argument.clone());
        } else if let Some((first, last)) = argument.split_once("..") {
            let commits = range(repository, first, last)?;
            let new = commits.into_iter().filter(|commit| !seen.contains(commit));
            let new: Vec<String> = new.collect();
            programs.extend(new.clone());
            seen.extend(new);
        } else {
            seen.push(short_hash(repository, &commit_of(repository, argument)?)?);
            programs.push(argument.clone());
        }
    }
    let count = programs.len();
    ensure!(
        count >= 2,
        "--history {}: this is one program; name a second one, such as . for this program",
        arguments.join(" ")
    );
    ensure!(
        count <= MOST_PROGRAMS,
        "--history {}: these are {count} programs, more than {MOST_PROGRAMS}; name a shorter range",
        arguments.join(" ")
    );
    Ok(programs)
}

/// The short hashes of `first` and of the commits after it up to `last`.
fn range(repository: &Path, first: &str, last: &str) -> Result<Vec<String>> {
    // git takes an empty end for HEAD
    let end = |name: &str| commit_of(repository, if name.is_empty() { "HEAD" } else { name });
    let (from, to) = (end(first)?, end(last)?);
    let between = format!("{from}..{to}");
    let list = ["rev-list", "--first-parent", "--reverse", "--abbrev-commit", between.as_str()];
    let after = git(repository, &list)?;
    ensure!(
        !after.is_empty(),
        "the range {first}..{last} has no commit after its first: {last} is {first} or older"
    );
    let commits = [short_hash(repository, &from)?];
    Ok(commits.into_iter().chain(after.lines().map(str::to_owned)).collect())
}

/// The hash of the commit that a revision names.
///
/// # Errors
/// Returns an error if git does not know the revision.
fn commit_of(repository: &Path, revision: &str) -> Result<String> {
    let commit = format!("{revision}^{{commit}}");
    git(repository, &["rev-parse", "--verify", "--end-of-options", &commit])
        .with_context(|| format!("no revision {revision} in {}", repository.display()))
}

fn short_hash(repository: &Path, commit: &str) -> Result<String> {
    git(repository, &["rev-parse", "--short", commit])
}

/// Runs git in `repository` and returns its trimmed output.
fn git(repository: &Path, arguments: &[&str]) -> Result<String> {
    run(Command::new("git").arg("-C").arg(repository).args(arguments))
}

/// Builds the program of `revision` of the repository in `repository`, below `folder`; a revision
/// that was built before is not built again.
///
/// # Errors
/// When git does not know the revision, or it does not build.
pub fn build(repository: &Path, revision: &str, folder: &Path) -> Result<Measurer> {
    let git = |arguments: &[&str]| git(repository, arguments);
    // also rejects a name that is no revision, before the name is used
    let hash = commit_of(repository, revision)?;
    let home = folder.join("revisions");
    let (source, program) = (home.join(format!("{hash}-source")), home.join(&hash));
    if files::is_file(&program)? {
        return measurer(program, revision);
    }
    fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    remove(&source)?;
    let path = source.display().to_string();
    git(&["worktree", "prune"])?;
    git(&["worktree", "add", "--detach", &path, &hash])?;
    let target = home.join("target");
    let own = files::is_file(&source.join("crates/bench/src/main.rs"))?;
    let name = if own { "blockmill-bench" } else { "blockmill" };
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--bin", name]);
    cargo.args(own.then_some("--package=blockmill-bench")).arg("--target-dir").arg(&target);
    let built = run(cargo.current_dir(&source));
    git(&["worktree", "remove", "--force", &path])?;
    built.with_context(|| format!("revision {revision} does not build"))?;
    fs::copy(target.join("release").join(name), &program)
        .with_context(|| format!("cannot write {}", program.display()))?;
    measurer(program, revision)
}

/// The program of a revision, which runs jobs itself or by its command `bench`.
fn measurer(path: PathBuf, revision: &str) -> Result<Measurer> {
    let both = [false, true].map(|is_product| Measurer { path: path.clone(), is_product });
    both.into_iter()
        .find(Measurer::runs_jobs)
        .with_context(|| format!("{revision} is too old: its program cannot run benchmark jobs"))
}

/// Runs a command and returns its trimmed output.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = watch(command).with_context(|| format!("cannot run {name}"))?;
    if !ended.status.success() {
        bail!("{name}: {}", last_line(&ended.stderr));
    }
    Ok(ended.stdout.trim().to_owned())
}

#[cfg(test)]
mod tests;
