//! The page of comparisons as a whole: what it holds, and that text of records stays text.

use super::*;
use crate::definition::Reference;
use crate::report::sample;

const HOSTILE: &str = "</script><script>alert(1)</script><!--\"'&";

fn sitting(contests: Vec<Contest>) -> Sitting {
    Sitting { contests, ..Sitting::default() }
}

#[test]
fn nothing_in_a_contest_becomes_markup() {
    let mut contest = sample::contest("ablation", &[(HOSTILE, 1.0), (HOSTILE, 2.0)]);
    contest.title = HOSTILE.into();
    contest.about = HOSTILE.into();
    contest.case = HOSTILE.into();
    contest.left_out = vec![HOSTILE.into()];
    contest.settings = [(HOSTILE.to_owned(), HOSTILE.to_owned())].into();
    contest.contestants[2].with = vec![HOSTILE.into()];
    contest.contestants[1].peer = Some(HOSTILE.into());
    contest.contestants[0].revision = Some(HOSTILE.into());
    let who = || HOSTILE.to_owned();
    contest.reference = Some(Reference { who: who(), measured: who(), differs: who() });
    contest.runs[0].record.answer.insert(who(), who());
    for shape in ["ablation", "ladder", "peers", HOSTILE, &format!("sweep {HOSTILE}")] {
        contest.shape = shape.into();
        let mut sitting = sitting(vec![contest.clone(), contest.clone()]);
        sitting.command = vec![HOSTILE.into()];
        let page = html(&[sitting], &[]);
        assert!(!page.contains("<script>alert") && !page.contains("<!--"), "{shape}");
        assert_eq!(page.matches("<script").count(), 2, "its own two");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }
}

#[test]
fn page_of_a_contest_begins_with_what_was_found() {
    let contest = sample::contest("revisions", &[("old", 2.0), ("new", 1.0)]);
    let page = html(&[sitting(vec![contest])], &[]);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is not in the page"));
    let parts = [
        "<h1>Ethereum headers · revisions</h1>",
        "new is 2.00 times as fast as old.</p>",
        "95 % interval 2.00..2.00 of 16 pairs of runs. Noise here and now: 0.",
        "How many times as fast",
        "Where the time goes",
        "<td class=\"l good\">faster</td>",
        "Inside a typical run",
        "blockmill bench new</code>",
    ];
    assert!(parts.map(at).is_sorted(), "{:?}", parts.map(at));
    assert!(page.contains("data-sort=\"2"), "tables sort by numbers");
    assert!(!page.contains(":[{\"columns\""), "series are left out");
}

#[test]
fn page_of_many_contests_begins_with_all_of_them() {
    let contest = |title: &str, time| Contest {
        title: title.into(),
        definition: title.into(),
        ..sample::contest("revisions", &[("old", 1.0), ("new", time)])
    };
    let contests = vec![contest("One", 0.5), contest("Two", 1.25)];
    let page = html(&[sitting(contests)], &[sample::full("import", 1.0)]);
    assert!(page.contains("<h1>2 contests: One, Two</h1>") && page.contains("All results"));
    assert!(page.contains("<title>Two · revisions: 1.25 times as long"), "in the chart of all");
    assert_eq!(page.matches("<details class=\"contest\" open>").count(), 2);
    assert!(page.contains("import: 1,000,000 blocks of mainnet era1"), "and a run below them");
}
