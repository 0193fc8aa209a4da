//! The page in a real browser: what it shows is what the records say.

use super::browser::{check, row};
use super::*;
use crate::sample;
use blockmill_pipeline::record::BLOCKS_PER_S;

#[blockmill_testkit::needs(chromium)]
#[test]
fn runs_are_shown_as_they_were() {
    let records = [sample::full("import", 2.0), sample::reindexed("import")];
    let seen = check(&html(&records));
    assert_eq!(row(&seen, "whole run, wall time")[1..], ["2.00 s", "510 ms"]);
    let held: Vec<RunRecord> = serde_json::from_value(seen["records"]["runs"].clone()).unwrap();
    assert!(held == records, "the page holds the records");
    let seen = check(&html(&records[..1]));
    let speed = crate::format::rate(records[0].facts.value(BLOCKS_PER_S));
    assert_eq!(seen["hero"], serde_json::json!([speed]));
    let cards = seen["cards"].as_array().unwrap();
    let wall = crate::format::duration(records[0].wall_s());
    for expected in [wall, "1.2 of 2".to_owned(), crate::format::bytes(96_000_000)] {
        assert!(cards.contains(&expected.clone().into()), "{expected} is not in {cards:?}");
    }
    assert!(seen["text"].as_str().unwrap().contains("1/100 checked (10,031), seed 42"));
}
