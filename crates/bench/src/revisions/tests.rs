//! Which programs a history names, in a small repository: a line of four commits, and a branch of
//! one commit that is merged into the third.

use super::*;

/// Commits of nobody, which are not signed.
const NOBODY: [&str; 6] =
    ["-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "commit.gpgSign=false"];

/// A repository whose commits have tags: `one`, `two`, `side`, `merge` (of `side`) and `four`.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "init --quiet --initial-branch main",
        "commit --quiet --allow-empty --message 1",
        "tag one",
        "switch --quiet --create branch",
        "commit --quiet --allow-empty --message side",
        "tag side",
        "switch --quiet main",
        "commit --quiet --allow-empty --message 2",
        "tag two",
        "merge --quiet --no-ff --message 3 branch",
        "tag merge",
        "commit --quiet --allow-empty --message 4",
        "tag four",
    ] {
        let words: Vec<&str> = NOBODY.into_iter().chain(line.split(' ')).collect();
        git(folder.path(), &words).unwrap();
    }
    folder
}

/// The programs of a line of arguments; short hashes are replaced by the tags of their commits.
fn programs(repository: &Path, arguments: &str) -> Result<Vec<String>> {
    let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let tags = ["one", "two", "side", "merge", "four"];
    let hashes = tags.map(|tag| git(repository, &["rev-parse", "--short", tag]).unwrap());
    let all = expand(repository, &arguments)?.into_iter();
    let name = |one: String| match hashes.iter().position(|hash| *hash == one) {
        Some(at) => format!("<{}>", tags[at]),
        None => one,
    };
    Ok(all.map(name).collect())
}

#[test]
fn a_range_is_its_first_commit_and_all_after_it_without_merged_branches() {
    let folder = repository();
    let of = |arguments| programs(folder.path(), arguments).unwrap().join(" ");
    assert_eq!(of("one..four"), "<one> <two> <merge> <four>", "the oldest first");
    assert_eq!(of("one.."), of("one..HEAD"), "an empty end is HEAD, as in git");
    assert_eq!(of("side..four"), "<side> <two> <merge> <four>");
    assert_eq!(of("two four ."), "two four .", "single revisions stay as they are");
    assert_eq!(of(". one..two"), ". <one> <two>");
    assert_eq!(of("one..two two..four ."), "<one> <two> <merge> <four> .", "each only once");
    assert_eq!(of("two two..four"), "two <merge> <four>");
}

#[test]
fn what_names_no_programs_is_an_error() {
    let folder = repository();
    let error = |arguments| format!("{:#}", programs(folder.path(), arguments).unwrap_err());
    let nothing = "the range four..one has no commit after its first: one is four or older";
    assert_eq!(error("four..one"), nothing);
    assert!(error("one..one").contains("one is one or older"));
    for unknown in ["none", "one..none", "none..one", "one...two", "--help", "one..--all"] {
        let error = error(unknown);
        assert!(error.starts_with("no revision "), "{unknown}: {error}");
    }
    let alone = "--history .: this is one program; name a second one, such as . for this program";
    assert_eq!(error("."), alone);
    assert!(error("one").starts_with("--history one: this is one program"));
}

#[test]
fn too_many_programs_are_counted_before_any_is_built() {
    let folder = repository();
    for _ in 0..29 {
        let commit = ["commit", "--quiet", "--allow-empty", "--message", "more"];
        git(folder.path(), &[&NOBODY[..], &commit].concat()).unwrap();
    }
    let count = |arguments| programs(folder.path(), arguments).map(|all| all.len());
    assert_eq!(count("two..").unwrap(), 32);
    let error = count("one..").unwrap_err().to_string();
    let expected = "--history one..: these are 33 programs, more than 32; name a shorter range";
    assert_eq!(error, expected);
}
