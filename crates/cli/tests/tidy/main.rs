//! The style of the code as tests. Each rule has a short list of named exceptions; one that is no
//! longer needed is a failure too.

mod crates;
mod facts;
mod options;
mod source;
mod words;

use source::{Source, files, root, sources};
use std::collections::HashSet;
use std::fs;

const COLUMNS: usize = 100;
const FILE_LINES: usize = 400;
const TEST_FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;

/// Files that choose by platform, and why they are not under `arch/`.
const PLATFORM_FILES: [(&str, &str); 21] = [
    ("crates/archive/src/output/identity.rs", "what tells files apart, and syncs folders"),
    ("crates/cli/src/profile.rs", "only on Linux can a run be sampled"),
    ("crates/ethereum/src/state/flat_trie/backend.rs", "RocksDB is built on request"),
    ("crates/hashes/src/ethash_mix.rs", "one loop, compiled for each register width"),
    ("crates/hashes/src/lib.rs", "what needs the standard library"),
    ("crates/state-store/src/pages/page_reads.rs", "only Linux reads through io_uring"),
    ("crates/signatures/src/batch.rs", "P-256 needs the standard library"),
    ("crates/signatures/src/lanes.rs", "P-256 needs the standard library"),
    ("crates/signatures/src/lib.rs", "what needs the standard library"),
    ("crates/pipeline/src/disk.rs", "what each system tells about room on disk"),
    ("crates/pipeline/src/usage.rs", "what each system tells about a process"),
    ("crates/platform/src/abort.rs", "a signal of Unix, and a C library that sends it"),
    ("crates/platform/src/exec.rs", "only Unix puts one program in the place of another"),
    ("crates/platform/src/files.rs", "only Unix tells pipes and sockets from devices"),
    ("crates/platform/src/heap.rs", "the allocator, which only a build can choose"),
    ("crates/platform/src/holes.rs", "only Linux tells of them"),
    ("crates/platform/src/folders.rs", "only Linux exchanges two names in one step"),
    ("crates/platform/src/links.rs", "only Linux shares blocks of files"),
    ("crates/platform/src/memory.rs", "prefetch and huge pages"),
    ("crates/platform/src/open_files.rs", "a limit of Unix"),
    ("crates/platform/src/page_cache.rs", "only Linux drops a file from it"),
];

/// Files with unsafe code outside the crates that may have it, and why.
const UNSAFE_FILES: [(&str, &str); 5] = [
    ("benchmarks/peers/bitcoin-core/src/kernel.rs", "calls of Bitcoin Core, in a peer"),
    ("benchmarks/peers/rlp-alloy/src/allocations.rs", "a counting allocator, in a peer"),
    ("benchmarks/peers/stores/src/lmdb.rs", "a mapped file, in a peer"),
    ("crates/bench/src/baselines/file_map.rs", "a mapped file, in a baseline"),
    ("crates/bench/src/counting.rs", "a counting allocator: its trait has unsafe methods"),
];

/// Files whose code may panic, and why that cannot be caused by input.
const PANICKING_FILES: [(&str, &str); 3] = [
    ("crates/hashes/src/arch/x86_64/avx2.rs", "64 bytes have two halves of 32"),
    ("crates/hashes/src/rows.rs", "a table of a wrong size is a fault of the caller"),
    ("crates/rlp/src/window.rs", "an `Encode` that writes more than it measured is a fault of it"),
];

/// Files that list folders and may miss some of what is there, and why nothing depends on that.
const FORGIVING_LISTS: [(&str, &str); 5] = [
    ("crates/archive/src/foreign.rs", "words for an error that there is already"),
    ("crates/archive/src/listing.rs", "bytes on disk, of which some are shown"),
    ("crates/bitcoin/src/check.rs", "bytes to be read, for the display of how far it is"),
    ("crates/cli/src/bitcoin/coins.rs", "bytes on disk, of which some are shown"),
    ("crates/ethereum/src/header/ethash/disk.rs", "what is not removed only takes space"),
];

/// Names of work that only a comparison wants to be done. Baselines of earlier designs are in
/// `crates/bench/src/baselines`, behind traits of the engines.
const NAMES_OF_BASELINES: [&str; 22] = [
    "black_box",
    "known-check",
    "known_check",
    "linkage-check",
    "linkage_twice",
    "stop-check",
    "stop_check_per_header",
    "clock_per_header",
    "difficulty_bigint",
    "bigint_difficulty",
    "DifficultyArithmetic",
    "decode_in_place",
    "batch_write",
    "segment_storage",
    "OF_BENCHMARKS",
    "first-read",
    "whole_block_first",
    "look-back",
    "look_back",
    "LookBack",
    "accept_blocks",
    "FileMap",
];

/// How the names of our environment variables begin.
const OUR_VARIABLES: &str = "BLOCKMILL_";

/// What tests share; any crate may have it, for its tests only.
const KIT: &str = "blockmill-testkit";

/// Fails with all faults, less those in files of `exceptions`, which must all be needed.
#[track_caller]
fn expect_none(faults: Vec<(String, String)>, exceptions: &[(&str, &str)]) {
    let found: HashSet<&str> = faults.iter().map(|(path, _)| &**path).collect();
    let is_excepted = |path: &str| exceptions.iter().any(|(file, _)| *file == path);
    let mut report: Vec<_> = faults
        .iter()
        .filter(|(path, _)| !is_excepted(path))
        .map(|(path, fault)| format!("{path}{fault}"))
        .collect();
    let idle = exceptions.iter().filter(|(file, _)| !found.contains(file));
    report.extend(idle.map(|(file, _)| format!("{file}: needs no exception")));
    assert!(report.is_empty(), "\n{}\n", report.join("\n"));
}

/// Faults of lines: `fault` gets the file and the index of a line.
fn faults_by_line(fault: impl Fn(&Source, usize) -> Option<String>) -> Vec<(String, String)> {
    let mut faults = vec![];
    for source in sources() {
        for at in 0..source.lines.len() {
            if let Some(fault) = fault(&source, at) {
                faults.push((source.path.clone(), format!(":{}: {fault}", at + 1)));
            }
        }
    }
    faults
}

/// Is `word` in `code`, not as a part of another word?
fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[test]
fn lines_fit_the_page() {
    let faults = faults_by_line(|source, at| {
        let columns = source.lines[at].chars().count();
        (columns > COLUMNS).then(|| format!("{columns} columns"))
    });
    expect_none(faults, &[]);
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut faults = vec![];
    for Source { path, lines, for_tests, .. } in sources() {
        let limit = if for_tests.first() == Some(&true) { TEST_FILE_LINES } else { FILE_LINES };
        if lines.len() > limit {
            faults.push((path.clone(), format!(": {} lines", lines.len())));
        }
        assert!(lines[0].starts_with("//! "), "{path}: begins without a line about the file");
    }
    expect_none(faults, &[]);
}

#[test]
fn functions_fit_a_screen() {
    let faults = faults_by_line(|source, at| {
        let code = source.code[at].trim_start();
        let begins = has_word(code, "fn") && (code.contains("fn ") && code.contains('('));
        let lines = source.end_of_item(at) + 1 - at;
        (begins && lines > FUNCTION_LINES).then(|| format!("a function of {lines} lines"))
    });
    expect_none(faults, &[]);
}

#[test]
fn unsafe_code_is_in_few_crates_and_an_allocator_and_gives_its_reason() {
    let place = faults_by_line(|source, at| {
        let may = [
            "hashes",
            "signatures",
            "rlp",
            "store",
            "state-store",
            "platform",
            "script-interpreter",
        ]
        .map(|name| format!("crates/{name}/"));
        let may = may.iter().any(|folder| source.path.starts_with(folder));
        (has_word(&source.code[at], "unsafe") && !may).then(|| "unsafe code".into())
    });
    expect_none(place, &UNSAFE_FILES);
    let reason = faults_by_line(|source, at| {
        // a declaration says what its callers must ensure instead
        if !has_word(&source.code[at], "unsafe") || source.code[at].contains("unsafe fn") {
            return None;
        }
        let above = source.lines[..at].iter().rev().map(|line| line.trim());
        let comment: Vec<_> = above
            .skip_while(|line| line.starts_with("#["))
            .take_while(|line| line.starts_with("//"))
            .collect();
        let gives = comment.iter().any(|line| line.starts_with("// SAFETY:"));
        (!gives).then(|| "unsafe code without a SAFETY line before it".into())
    });
    expect_none(reason, &[]);
}

/// Crates that are built with some chains or some parts of the program only.
const BUILT_IN_PARTS: [&str; 4] = [
    "crates/cli/src/",
    "crates/export/src/lib.rs",
    "crates/generate/src/lib.rs",
    "crates/rlp/src/",
];

#[test]
fn platforms_are_distinguished_in_few_places() {
    let faults = faults_by_line(|source, at| {
        let line = source.code[at].trim_start();
        let in_parts = BUILT_IN_PARTS.iter().any(|place| source.path.starts_with(place));
        let by_feature = in_parts && line.contains("feature = ") && !line.contains("target_");
        let by_platform = (line.starts_with("#[cfg(") || line.contains("cfg!(")) && !by_feature;
        let places = ["/arch/", "/arch.rs", "/mod.rs"];
        let place = places.iter().any(|place| source.path.contains(place));
        (by_platform && !place && !source.for_tests[at]).then(|| line.to_string())
    });
    expect_none(faults, &PLATFORM_FILES);
}

#[test]
fn input_cannot_panic_and_nothing_is_left_to_do() {
    let panics = [".unwrap()", ".expect(\"", ".expect(&", "panic!(", "unreachable!("];
    let faults = faults_by_line(|source, at| {
        let found = panics.iter().find(|call| source.code[at].contains(**call));
        found.filter(|_| !source.for_tests[at]).map(|call| (*call).to_string())
    });
    expect_none(faults, &PANICKING_FILES);
    let unfinished = ["todo!", "unimplemented!", "dbg!"];
    let faults = faults_by_line(|source, at| {
        let found = unfinished.iter().find(|call| source.code[at].contains(**call));
        found.map(|call| (*call).to_string())
    });
    expect_none(faults, &[]);
}

/// The methods of paths answer "no" to an error of the system; `blockmill_platform::files` returns
/// it.
#[test]
fn an_error_of_the_system_is_never_read_as_not_there() {
    let asks = [".is_file()", ".is_dir()", ".is_symlink()", ".exists()", ".try_exists()"];
    let faults = faults_by_line(|source, at| {
        let product = source.path.starts_with("crates/")
            && !source.path.starts_with("crates/testkit/")
            && source.path.contains("/src/");
        let found = asks.iter().find(|ask| source.code[at].contains(**ask));
        let found = found.filter(|_| product && !source.for_tests[at]);
        found.map(|ask| format!("{ask}: ask `blockmill_platform::files`"))
    });
    let files = [("crates/platform/src/files.rs", "asks the system, and keeps its errors")];
    expect_none(faults, &files);
    let lists = faults_by_line(|source, at| {
        let code = &source.code[at];
        let lists = code.contains("read_dir(")
            && (code.contains(".flatten()") || code.contains("let Ok(") || code.contains(".ok()"));
        (lists && !source.for_tests[at] && source.path.contains("/src/")).then(|| code.clone())
    });
    expect_none(lists, &FORGIVING_LISTS);
}

#[test]
fn engines_have_no_branch_for_a_benchmark() {
    let faults = faults_by_line(|source, at| {
        let engines = ["ethereum", "bitcoin", "neo", "pipeline", "archive", "store", "trie"];
        let is_in = |name: &&str| source.path.starts_with(&format!("crates/{name}/src/"));
        let engine = engines.iter().any(is_in);
        // names of options are in texts, others are identifiers
        let is_named = |name: &&&str| match name.contains('-') {
            true => source.lines[at].contains(**name),
            false => has_word(&source.code[at], name),
        };
        let found = NAMES_OF_BASELINES.iter().find(is_named);
        let found = found.filter(|_| engine && !source.for_tests[at]);
        found.map(|name| format!("{name}: a baseline belongs to `crates/bench`"))
    });
    expect_none(faults, &[]);
}

#[test]
fn names_of_files_say_what_is_in_them() {
    let empty = ["utils", "util", "common", "helpers", "helper", "manager", "misc"];
    let is_empty = |part: &str| empty.contains(&part.trim_end_matches(".rs"));
    let faults = files(&[".rs"]).into_iter().filter(|path| path.split('/').any(is_empty));
    expect_none(faults.map(|path| (path, ": says nothing".into())).collect(), &[]);
}

/// What a test needs from outside of the repository it says in `#[blockmill_testkit::needs(...)]`.
#[test]
fn tests_do_not_look_for_what_they_need_themselves() {
    let variables = blockmill_testkit::NEEDS
        .iter()
        .map(|need| need.variable)
        .chain([blockmill_testkit::REQUIRE]);
    let texts: Vec<_> = variables.map(|variable| format!("\"{variable}\"")).collect();
    let faults = faults_by_line(|source, at| {
        let line = &source.lines[at];
        let own = source.path.starts_with("crates/testkit/");
        let reads = line.contains("env::var") && line.contains(OUR_VARIABLES);
        let names = texts.iter().any(|text| line.contains(text));
        (source.for_tests[at] && !own && (reads || names)).then(|| line.trim().to_string())
    });
    let why = "which widths the CPU must have, if CI says it";
    let widths = ["crates/hashes/tests/widths.rs", "crates/signatures/tests/widths.rs"];
    expect_none(faults, &widths.map(|file| (file, why)));
}

/// A test that returns early has passed without a look. What cannot run is ignored or fails.
#[test]
fn no_test_passes_by_returning_early() {
    let mut tests = 0;
    let mut faults = vec![];
    for source in sources() {
        let begins = |at: &usize| source.code[*at].trim() == "#[test]";
        for at in (0..source.code.len()).filter(begins) {
            tests += 1;
            let returns = |at: &usize| {
                let words = source.code[*at].split_whitespace().collect::<Vec<_>>().join(" ");
                ["return;", "return }", "return,"].iter().any(|end| words.contains(end))
            };
            let found = (at..=source.end_of_item(at)).filter(returns);
            faults.extend(found.map(|at| (source.path.clone(), format!(":{}: returns", at + 1))));
        }
    }
    assert!(tests > 500, "{tests} tests");
    expect_none(faults, &[]);
}

#[test]
fn only_tests_use_the_kit_of_the_tests() {
    let mut users = 0;
    for path in files(&["Cargo.toml"]) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        // its own manifest, and the one that says where it is
        if path.starts_with("crates/testkit/") || path == "Cargo.toml" {
            continue;
        }
        let manifest: toml::Table = text.parse().unwrap();
        for (section, dependencies) in manifest {
            let Some(table) = dependencies.as_table().filter(|table| table.contains_key(KIT))
            else {
                let hides = format!("{dependencies:?}").contains(KIT);
                assert!(!hides, "{path}: [{section}] calls the kit something else");
                continue;
            };
            assert_eq!(section, "dev-dependencies", "{path}: only tests may use the kit");
            users += table.len().min(1);
        }
    }
    assert!(users > 0, "nobody uses the kit");
}

#[test]
fn texts_name_no_place_of_one_machine() {
    // in parts, so that this file passes
    let places = [("/wo", "rk/"), ("/tm", "p/"), ("/ro", "ot/"), ("/ho", "me/")];
    let hosts = [("crates", ".io"), ("index.", "golang.org"), ("proxy.", "golang.org")];
    let hosts = hosts.into_iter().chain([("pypi", ".org"), ("registry.", "npmjs.org")]);
    let words: Vec<_> = places.into_iter().chain(hosts).map(|(a, b)| format!("{a}{b}")).collect();
    let mut faults = vec![];
    for path in files(&[".md", ".rs", ".toml", ".go", ".mod", ".sh", ".py", ".html"]) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for (at, line) in text.lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(&***word)) {
                faults.push((path.clone(), format!(":{}: {word}", at + 1)));
            }
        }
    }
    expect_none(faults, &[]);
}
