//! The revision in records is that of the source: in a clone, in a worktree, without git, after the
//! next commit, and after a change that is not committed.

#[path = "../build.rs"]
#[allow(dead_code, reason = "a build script begins in main")]
mod build;

use build::{profile_of, revision_of, watched};
use std::fs;
use std::path::Path;
use std::process::Command;

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A repository like ours with one commit: a program that prints its revision.
fn repository(folder: &Path) {
    let build = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs")).unwrap();
    write(folder, "Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
    let manifest = "[package]\nname = \"one\"\nedition = \"2024\"\n";
    write(folder, "crates/one/Cargo.toml", manifest);
    write(folder, "crates/one/build.rs", &build);
    let main = "fn main() { print!(\"{}\", env!(\"BLOCKMILL_REVISION\")) }\n";
    write(folder, "crates/one/src/main.rs", main);
    write(folder, "crates/one/tests/one.rs", "");
    write(folder, ".gitignore", "/target\nCargo.lock\n");
    git(folder, &["init", "-q", "-b", "main"]);
    commit(folder);
}

fn commit(folder: &Path) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "a"]);
}

fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[test]
fn a_revision_is_the_commit_and_says_what_is_not_committed() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("repository");
    repository(&folder);
    let first = revision_of(&folder);
    assert!(is_commit(&first), "{first}");
    // tests and texts are not in the program
    write(&folder, "crates/one/tests/one.rs", "// more\n");
    write(&folder, "README.md", "more\n");
    assert_eq!(revision_of(&folder), first);
    write(&folder, "crates/one/src/other.rs", "\n");
    assert_eq!(revision_of(&folder), format!("{first}-dirty"));
    commit(&folder);
    let second = revision_of(&folder);
    assert!(is_commit(&second) && second != first, "{second}");
}

#[test]
fn a_worktree_has_its_own_revision_and_a_clone_that_of_its_source() {
    let scratch = tempfile::tempdir().unwrap();
    let [folder, tree, clone] = ["repository", "tree", "clone"].map(|at| scratch.path().join(at));
    repository(&folder);
    let first = revision_of(&folder);
    git(&folder, &["worktree", "add", "-q", "-b", "other", tree.to_str().unwrap()]);
    git(scratch.path(), &["clone", "-q", folder.to_str().unwrap(), clone.to_str().unwrap()]);
    assert_eq!([revision_of(&tree), revision_of(&clone)], [first.clone(), first.clone()]);
    commit(&tree);
    assert_eq!([revision_of(&folder), revision_of(&clone)], [first.clone(), first.clone()]);
    assert!(is_commit(&revision_of(&tree)) && revision_of(&tree) != first);
    for folder in [folder, tree, clone] {
        let heads = watched(&folder).into_iter().filter(|path| path.ends_with("logs/HEAD"));
        assert_eq!(heads.count(), 1, "{}", folder.display());
    }
}

#[test]
fn a_source_without_git_has_no_revision_and_not_that_of_the_folder_around_it() {
    let scratch = tempfile::tempdir().unwrap();
    assert_eq!(revision_of(scratch.path()), "");
    repository(scratch.path());
    let unpacked = scratch.path().join("unpacked");
    write(&unpacked, "crates/one/src/main.rs", "");
    assert_eq!(revision_of(&unpacked), "");
    assert_eq!(watched(&unpacked), [unpacked.join("crates/one/src")]);
}

#[test]
fn a_program_built_again_after_a_commit_tells_the_new_one() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    repository(folder);
    let built = |given: Option<&str>| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--offline", "--quiet"]).current_dir(folder);
        cargo.env("CARGO_TARGET_DIR", folder.join("target")).env_remove("RUSTFLAGS");
        cargo.env_remove("BLOCKMILL_REVISION");
        cargo.envs(given.map(|given| ("BLOCKMILL_REVISION", given)));
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = built(None);
    assert!(is_commit(&first), "{first:?}");
    commit(folder);
    let second = built(None);
    assert!(is_commit(&second) && second != first, "{second:?}");
    assert_eq!(built(Some("v1.2.3")), "v1.2.3");
    assert_eq!(built(None), second);
}

#[test]
fn this_program_tells_the_revision_of_its_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = option_env!("BLOCKMILL_REVISION").filter(|given| !given.is_empty());
    let expected = given.map_or_else(|| revision_of(&root), str::to_string);
    assert_eq!(blockmill_cli::program::this().revision, expected);
    assert_eq!(blockmill_cli::program::this().name, "blockmill");
}

#[test]
fn the_profile_is_the_folder_that_holds_the_builds() {
    for (out, profile) in [
        ("/target/dist/build/blockmill-program-12ab/out", "dist"),
        ("/build/target/release/build/blockmill-program-12ab/out", "release"),
        ("/target/aarch64-unknown-linux-gnu/debug/build/blockmill-program-12ab/out", "dev"),
        ("/elsewhere/out", ""),
    ] {
        assert_eq!(profile_of(Path::new(out)), profile, "{out}");
    }
    assert_eq!(profile_of(Path::new(env!("OUT_DIR"))), blockmill_cli::program::this().profile);
}
