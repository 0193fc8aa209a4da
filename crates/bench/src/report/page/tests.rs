//! The page of comparisons as a whole: what it holds, and that text of records stays text.

use super::*;
use crate::definition::{Figure, Reference};
use crate::report::sample;

const HOSTILE: &str = "</script><script>alert(1)</script><!--\"'&";

fn session(comparisons: Vec<Comparison>) -> Session {
    Session { comparisons, ..Session::default() }
}

#[test]
fn nothing_in_a_comparison_becomes_markup() {
    let mut comparison = sample::comparison("ablation", &[(HOSTILE, 1.0), (HOSTILE, 2.0)]);
    comparison.title = HOSTILE.into();
    comparison.about = HOSTILE.into();
    comparison.case = HOSTILE.into();
    comparison.left_out = vec![HOSTILE.into()];
    comparison.settings = [(HOSTILE.to_owned(), HOSTILE.to_owned())].into();
    comparison.variants[2].with = vec![HOSTILE.into()];
    comparison.variants[1].peer = Some(HOSTILE.into());
    comparison.variants[0].revision = Some(HOSTILE.into());
    let who = || HOSTILE.to_owned();
    comparison.reference = Some(Reference {
        who: who(),
        measured: who(),
        differs: who(),
        source: who(),
        figures: vec![Figure { of: who(), value: who() }],
    });
    comparison.runs[0].record.answer.insert(who(), who());
    comparison.variants.push(Variant { label: HOSTILE.into(), ..Variant::default() });
    for experiment in
        ["ablation", "ladder", "peers", "revisions", HOSTILE, &format!("sweep {HOSTILE}")]
    {
        comparison.experiment = experiment.into();
        let mut session = session(vec![comparison.clone(), comparison.clone()]);
        session.command = vec![HOSTILE.into()];
        let page = html(&[session], &[]);
        assert!(!page.contains("<script>alert") && !page.contains("<!--"), "{experiment}");
        assert_eq!(page.matches("<script").count(), 2, "its own two");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }
}

#[test]
fn page_of_a_comparison_begins_with_what_was_found() {
    let comparison = sample::comparison("revisions", &[("old", 2.0), ("new", 1.0)]);
    let page = html(&[session(vec![comparison])], &[]);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is not in the page"));
    let parts = [
        "<h1>Ethereum headers · revisions</h1>",
        "new is 2.00 times as fast as old.</p>",
        "95 % interval 2.00..2.00 of 16 pairs of runs. Noise here and now: 0.",
        "<p class=\"hero\"><b>2.00 times as fast</b>",
        "Where the time goes",
        "How many times as fast",
        "<td class=\"l good\">faster</td>",
        "Inside a typical run",
        "blockmill bench new</code>",
    ];
    assert!(parts.map(at).is_sorted(), "{:?}", parts.map(at));
    assert!(page.contains("data-sort=\"2"), "tables sort by numbers");
    assert!(!page.contains(":[{\"columns\""), "series are left out");
}

#[test]
fn page_of_many_comparisons_begins_with_all_of_them() {
    let comparison = |title: &str, time| Comparison {
        title: title.into(),
        definition: title.into(),
        ..sample::comparison("revisions", &[("old", 1.0), ("new", time)])
    };
    let comparisons = vec![comparison("One", 0.5), comparison("Two", 1.25)];
    let page = html(&[session(comparisons)], &[sample::full("import", 1.0)]);
    assert!(page.contains("<h1>2 comparisons: One, Two</h1>") && page.contains("All results"));
    assert!(page.contains("<title>Two · revisions: 1.25 times as long"), "in the chart of all");
    assert_eq!(page.matches("<details class=\"comparison\" open>").count(), 2);
    assert!(page.contains("import: 1,000,000 blocks of mainnet era1"), "and a run below them");
}
