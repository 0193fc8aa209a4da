//! The public tests of the execution layer: every case has the expected verdict, and none is
//! skipped without a reason.

use crate::vectors;
use blockmill_ethereum::suite::{self, Case, Verdict};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Passed, failed, skipped cases by network, of the files below these folders.
fn run(folders: &[&str]) -> BTreeMap<String, [usize; 3]> {
    let mut files = vec![];
    vectors::for_each_file(folders, |file, text| files.push((file.to_owned(), text.to_owned())));
    counts(&files, |_, case| case.network.clone())
}

/// Passed, failed, skipped cases of files, by a property of the file's name and the case. None may
/// fail.
pub fn counts(
    files: &[(String, String)],
    by: impl Fn(&str, &Case) -> String,
) -> BTreeMap<String, [usize; 3]> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let found: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(|| cases(files, &next))).collect();
        started.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut failures = vec![];
    for (file, case) in found {
        let at = match &case.verdict {
            Verdict::Passed => 0,
            Verdict::Failed { expected, found } => {
                let case = &case.name;
                failures.push(format!("{file} {case}: expected {expected}, found {found}"));
                1
            }
            Verdict::Skipped { .. } => 2,
        };
        counts.entry(by(file, &case)).or_default()[at] += 1;
    }
    println!("{counts:#?}");
    failures.iter().take(60).for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty(), "{} cases failed", failures.len());
    counts
}

/// The cases of the files that no other thread has taken.
fn cases<'f>(files: &'f [(String, String)], next: &AtomicUsize) -> Vec<(&'f str, Case)> {
    let mut found = vec![];
    while let Some((file, text)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
        let cases = suite::run(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        found.extend(cases.into_iter().map(|case| (&**file, case)));
    }
    found
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blockchain_tests() {
    let folders = ["BlockchainTests/", "EIPTests/BlockchainTests/"];
    let counts = run(&folders);
    let all = |at: usize| counts.values().map(|counts| counts[at]).sum::<usize>();
    assert_eq!(all(0) + all(2), 2_046);
    // all of them of one draft
    assert_eq!((all(2), counts["Prague"][2]), (1_438, 1_438));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn general_state_tests() {
    let counts = run(&["GeneralStateTests/"]);
    assert_eq!(counts.values().map(|counts| counts[0]).sum::<usize>(), 21_442);
}
