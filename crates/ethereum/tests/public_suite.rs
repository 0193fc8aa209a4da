//! The public tests of the execution layer: every case has the expected verdict, and none is
//! skipped without a reason.

#[path = "vectors/mod.rs"]
mod vectors;

use blockmill_ethereum::suite::{self, Verdict};
use std::collections::BTreeMap;

/// Passed, failed, skipped cases by network, of the files below these folders.
fn run(folders: &[&str]) -> BTreeMap<String, [usize; 3]> {
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut failures = vec![];
    vectors::for_each_file(folders, |file, text| {
        for case in suite::run(text).unwrap_or_else(|error| panic!("{file}: {error}")) {
            let at = match &case.verdict {
                Verdict::Passed => 0,
                Verdict::Failed { expected, found } => {
                    let case = &case.name;
                    failures.push(format!("{file} {case}: expected {expected}, found {found}"));
                    1
                }
                Verdict::Skipped { .. } => 2,
            };
            counts.entry(case.network).or_default()[at] += 1;
        }
    });
    println!("{counts:#?}");
    failures.iter().take(60).for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty(), "{} cases failed", failures.len());
    counts
}

#[testkit::needs(fixtures)]
#[test]
fn blockchain_tests() {
    let folders = ["BlockchainTests/", "EIPTests/BlockchainTests/"];
    let counts = run(&folders);
    let all = |at: usize| counts.values().map(|counts| counts[at]).sum::<usize>();
    assert_eq!(all(0) + all(2), 2_046);
    // all of them of one draft
    assert_eq!((all(2), counts["Prague"][2]), (1_438, 1_438));
}

#[testkit::needs(fixtures)]
#[test]
fn general_state_tests() {
    let counts = run(&["GeneralStateTests/"]);
    assert_eq!(counts.values().map(|counts| counts[0]).sum::<usize>(), 21_442);
}
