//! Finds out the revision of the source and the compiler, and tells Cargo when to look again.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of a crate that are not in the program.
const NOT_COMPILED: [&str; 3] = ["tests", "benches", "examples"];

fn main() {
    // not as it was compiled: one folder of builds may be that of several clones
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = Path::new(&folder).join("../..");
    let given = std::env::var("BLOCKMILL_REVISION").ok().filter(|given| !given.is_empty());
    let revision = given.unwrap_or_else(|| revision_of(&root));
    println!("cargo::rustc-env=BLOCKMILL_REVISION={revision}");
    println!("cargo::rerun-if-env-changed=BLOCKMILL_REVISION");
    let profile = std::env::var_os("OUT_DIR").map(|out| profile_of(Path::new(&out)));
    let profile = profile.unwrap_or_default();
    println!("cargo::rustc-env=BLOCKMILL_PROFILE={profile}");
    println!("cargo::rustc-env=BLOCKMILL_COMPILER={}", compiler(&profile));
    println!("cargo::rerun-if-env-changed=CARGO_INCREMENTAL");
    println!("cargo::rerun-if-env-changed=BLOCKMILL_BUILD");
    for path in watched(&root) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    list_benchmarks(&root.join("benchmarks/definitions"));
}

/// Writes the names of all benchmarks for the program; no names if only the crates are there.
fn list_benchmarks(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    if !paths.is_empty() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut names: Vec<_> = paths.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    names.sort_unstable();
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    // without the file the program does not build, and the compiler names it
    let _ = std::fs::write(Path::new(&out).join("benchmarks.rs"), format!("&{names:?}"));
}

/// The Cargo profile of a build with this `OUT_DIR`; empty if the path does not name it. `PROFILE`
/// has only `debug` or `release`, for a profile that inherits one of them too.
pub fn profile_of(out: &Path) -> String {
    let mut above = out.ancestors().skip_while(|path| !path.ends_with("build")).skip(1);
    match above.next().and_then(Path::file_name).and_then(|name| name.to_str()) {
        Some("debug") => "dev".into(),
        name => name.unwrap_or_default().into(),
    }
}

/// The version line of the compiler, whether the build is incremental (functions are inlined
/// differently then), and `BLOCKMILL_BUILD`, or without it the profile unless it is `dist`: a build
/// script does not see levels of optimisation.
fn compiler(profile: &str) -> String {
    let output =
        std::env::var_os("RUSTC").map(|rustc| Command::new(rustc).arg("--version").output());
    let name = output.and_then(Result::ok).filter(|output| output.status.success());
    let name = name.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let incremental = std::env::var("CARGO_INCREMENTAL").is_ok_and(|value| value == "1");
    let incremental = if incremental { ", incremental" } else { "" };
    let named = (!["", "dist"].contains(&profile)).then(|| format!("profile {profile}"));
    let given = std::env::var("BLOCKMILL_BUILD").ok().filter(|given| !given.is_empty());
    let build = given.or(named).map(|build| format!(", {build}")).unwrap_or_default();
    format!("{}{incremental}{build}", name.trim())
}

/// What git prints, run in `root`; nothing when there is no git, or it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(root).args(arguments);
    // these would lead to another repository
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}

/// Is `root` the root of a repository? The source may also lie in one of something else.
fn is_repository(root: &Path) -> bool {
    let same = |top: String| Path::new(&top).canonicalize().ok() == root.canonicalize().ok();
    git(root, &["rev-parse", "--show-toplevel"]).is_some_and(same)
}

/// The commit that is checked out, with `-dirty` when a file that is compiled is not as committed;
/// empty without git.
pub fn revision_of(root: &Path) -> String {
    if !is_repository(root) {
        return String::new();
    }
    let Some(commit) = git(root, &["rev-parse", "--verify", "HEAD"]) else { return String::new() };
    let excluded: Vec<_> =
        NOT_COMPILED.iter().map(|folder| format!(":(exclude,glob)crates/*/{folder}/**")).collect();
    let mut status = vec!["status", "--porcelain", "--untracked-files=all", "--"];
    status.extend(["Cargo.toml", "Cargo.lock", "crates"]);
    status.extend(excluded.iter().map(String::as_str));
    match git(root, &status).as_deref() {
        Some("") => commit,
        // if git cannot say that all is as committed, neither do we
        _ => format!("{commit}-dirty"),
    }
}

/// All whose change may change the revision: what git writes at each commit and checkout, and what
/// is compiled.
pub fn watched(root: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = ["Cargo.toml", "Cargo.lock"].map(|file| root.join(file)).into();
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    for path in entries(&root.join("crates")).iter().flat_map(|folder| entries(folder)) {
        let name = path.file_name().unwrap_or_default();
        if !NOT_COMPILED.iter().any(|folder| name == *folder) {
            paths.push(path);
        }
    }
    if is_repository(root) {
        let branch = git(root, &["symbolic-ref", "-q", "HEAD"]);
        let files = ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref());
        for file in files {
            paths.extend(git(root, &["rev-parse", "--git-path", file]).map(|path| root.join(path)));
        }
    }
    // of a path that is not there Cargo believes that it has changed, each time
    paths.retain(|path| path.exists());
    paths
}
