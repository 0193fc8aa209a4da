//! Programs of other revisions, each built in a checkout of its own.

use crate::process::{last_line, watch};
use crate::scratch::remove;
use anyhow::{Context, Result, bail, ensure};
use blockmill_platform::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program of `revision` of the repository in `repository`, below `folder`; a revision
/// that was built before is not built again.
///
/// # Errors
/// When git does not know the revision, or it does not build.
pub fn build(repository: &Path, revision: &str, folder: &Path) -> Result<PathBuf> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        run(command.arg("-C").arg(repository).args(arguments))
    };
    // also refuses what is none, before anything is made of the name
    let commit = format!("{revision}^{{commit}}");
    let hash = git(&["rev-parse", "--verify", "--end-of-options", &commit])
        .with_context(|| format!("no revision {revision} in {}", repository.display()))?;
    let home = folder.join("revisions");
    let (source, program) = (home.join(format!("{hash}-source")), home.join(&hash));
    if files::is_file(&program)? {
        return Ok(program);
    }
    fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    remove(&source)?;
    let path = source.display().to_string();
    git(&["worktree", "prune"])?;
    git(&["worktree", "add", "--detach", &path, &hash])?;
    let target = home.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--bin", "blockmill", "--target-dir"]);
    let built = run(cargo.arg(&target).current_dir(&source));
    git(&["worktree", "remove", "--force", &path])?;
    built.with_context(|| format!("revision {revision} does not build"))?;
    fs::copy(target.join("release").join("blockmill"), &program)
        .with_context(|| format!("cannot write {}", program.display()))?;
    ensure!(speaks(&program), "{revision} is older than this kind of bench: it takes no jobs");
    Ok(program)
}

/// Does the program do jobs?
fn speaks(program: &Path) -> bool {
    let ended = watch(Command::new(program).args(["bench", "--help"]));
    ended.is_ok_and(|ended| ended.stdout.contains("--precision"))
}

/// Runs a command; what it printed, trimmed.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = watch(command).with_context(|| format!("cannot run {name}"))?;
    if !ended.status.success() {
        bail!("{name}: {}", last_line(&ended.stderr));
    }
    Ok(ended.stdout.trim().to_owned())
}
