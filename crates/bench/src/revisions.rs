//! Programs of other revisions, each built in a checkout of its own.

use crate::process::{last_line, watch};
use crate::scratch::remove;
use anyhow::{Context, Result, bail};
use blockmill_platform::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Builds the program of `revision` of the repository in `repository`, below `folder`; a revision
/// that was built before is not built again.
///
/// # Errors
/// When git does not know the revision, or it does not build.
pub fn build(repository: &Path, revision: &str, folder: &Path) -> Result<Measurer> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        run(command.arg("-C").arg(repository).args(arguments))
    };
    // also rejects a name that is no revision, before the name is used
    let commit = format!("{revision}^{{commit}}");
    let hash = git(&["rev-parse", "--verify", "--end-of-options", &commit])
        .with_context(|| format!("no revision {revision} in {}", repository.display()))?;
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
