//! The page in a real browser: what it shows of comparisons is what their records say.

#[path = "../../../../report/src/page/browser.rs"]
mod browser;

use super::*;
use crate::report::comparison::{blocks, median, name};
use crate::report::fact::Unit;
use crate::report::sample;
use browser::{check, row};

fn session(comparisons: Vec<Comparison>) -> Session {
    Session { comparisons, ..Session::default() }
}

#[blockmill_testkit::needs(chromium)]
#[test]
fn a_comparison_is_shown_as_it_was() {
    let all = [("blockmill", 0.5), ("a long name of a step, longer than usual", 1.0), ("mod", 0.8)];
    let mut comparison = sample::comparison("ladder", &all);
    comparison.variants[2].against = 2;
    comparison.variants[3].against = 2;
    let seen = check(&html(&[session(vec![comparison.clone()])], &[]));
    let mut medians = vec![];
    for line in &blocks(&comparison)[0].lines {
        let value = median(&comparison, line.at, "wall_s").unwrap();
        medians.push(value);
        assert_eq!(row(&seen, &name(&comparison, line.at))[1], Unit::Seconds.show(value));
    }
    medians.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(seen["sorted"], serde_json::json!(medians), "a click sorts");
    assert_eq!(row(&seen, "blockmill")[2], "1.60 times as fast");
    assert_eq!(seen["hero"], serde_json::json!(["2.00 times as fast"]));
    let ours = Unit::Seconds.show(median(&comparison, 0, "wall_s").unwrap());
    assert_eq!(seen["cards"][0], ours, "the record's median");
    let run = &comparison.runs[7].record;
    let held = &seen["records"]["sessions"][0]["comparisons"][0]["runs"][7]["record"];
    assert_eq!(held["facts"]["wall_s"].as_f64(), Some(run.wall_s()));
}

#[blockmill_testkit::needs(chromium)]
#[test]
fn many_comparisons_of_all_experiments_fit() {
    let all = [("blockmill", 0.02), ("go-ethereum-v1.17.10-pebble-freezer", 1.3), ("geth", 1.31)];
    let experiments = ["ablation", "peers", "revisions", "alone", "sweep headers"];
    let comparisons = experiments.map(|experiment| {
        let mut comparison = sample::comparison(experiment, &all);
        for (at, one) in comparison.variants.iter_mut().enumerate() {
            one.peer = (experiment == "peers" && at > 1).then(|| one.label.clone());
            let value = [1_000, 1_000, 1_000_000, 10_000_000][at].to_string();
            one.settings = [("headers".to_owned(), value)].into();
        }
        comparison
    });
    let seen = check(&html(&[session(comparisons.into())], &[]));
    let text = seen["text"].as_str().unwrap();
    for expected in ["65.0 times as fast as", "The whole run grows with headers", "10,000,000"] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
}

#[blockmill_testkit::needs(chromium)]
#[test]
fn a_history_fits_and_names_its_revisions() {
    let revisions = (0..30).map(|at| (format!("{at:07x}"), 1.0 + f64::from(at % 7) / 50.0));
    let revisions: Vec<(String, f64)> = revisions.collect();
    let mut all: Vec<(&str, f64)> = vec![("a long name of a revision, longer than usual", 1.1)];
    all.extend(revisions.iter().map(|(name, time)| (name.as_str(), *time)));
    all.push(("this program", 1.2));
    let seen = check(&html(&[session(vec![sample::comparison("revisions", &all)])], &[]));
    // after the bar of the headline
    let tip = seen["tips"][1].as_str().unwrap();
    assert!(tip.starts_with("revision ") && tip.contains(" s ("), "{tip}");

    let of = |revision: &str, time: f64| {
        let comparison = sample::comparison("alone", &[("blockmill", time)]);
        let mut session = session(vec![comparison]);
        session.program.revision = revision.repeat(10);
        session.started_unix = 1.75e9 + time * 1e6;
        session
    };
    let sessions: Vec<Session> = (1..=9).map(|at| of(&format!("{at}abc"), f64::from(at))).collect();
    let seen = check(&html(&sessions, &[]));
    let first = seen["tips"][0].as_str().unwrap();
    assert!(first.starts_with("revision and date 5abc5abc5a 2025-"), "{first}");
    assert!(first.contains("whole run 5.0") && first.contains(".."), "{first}");
    assert!(seen["text"].as_str().unwrap().contains("not measured in pairs"));
}
