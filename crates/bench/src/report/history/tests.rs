//! Sessions that are on one line, and sessions that are not.

use super::*;
use crate::report::{html, page_markdown, sample};

/// A session of `revision`, in which headers take `time` seconds.
fn session(revision: &str, day: u32, time: f64) -> Session {
    let comparison = sample::comparison("alone", &[("blockmill", time)]);
    let mut session = Session { comparisons: vec![comparison], ..Session::default() };
    session.program.revision = revision.into();
    session.started_unix = f64::from(20_000 + day) * 86_400.0;
    session.machine.cpu = "CPU".into();
    session.machine.cores = 2;
    session
}

/// The labels of each history.
fn labels(sessions: &[Session]) -> Vec<Vec<String>> {
    let of = |history: &History<'_>| history.sessions.iter().map(Measured::label).collect();
    histories(sessions).iter().map(of).collect()
}

const OLD: &str = "0123456789abcdef";
const NEW: &str = "fedcba9876543210";

#[test]
fn the_same_comparison_is_one_line_in_the_order_of_time() {
    let mut sessions = vec![session(NEW, 2, 1.0), session(OLD, 1, 2.0)];
    sessions[0].machine.kernel = "Linux 7".into();
    // the baseline of peers is the same program
    sessions[0].comparisons[0].experiment = "peers".into();
    let expected = [["0123456789\n2024-10-05", "fedcba9876\n2024-10-06"]];
    assert_eq!(labels(&sessions), expected);
    let [(name, chart)] = &charts(&sessions)[..] else { panic!("one chart") };
    assert_eq!((name.as_str(), chart.title()), ("history-1-headers", "Ethereum headers"));
    let svg = chart.svg();
    assert_eq!(svg.matches("<circle").count(), 4, "two facts, two sessions");
    let hover = chart.hover().unwrap();
    let point = hover["panels"][0]["series"][0][2][0].as_array().unwrap();
    assert_eq!(point[1], "0123456789 2024-10-05");
    let [value, low, high] = [2, 3, 4].map(|at| point[at].as_f64().unwrap());
    assert!(low < value && value < high && (1.99..2.01).contains(&value), "{point:?}");

    let page = html(&sessions, &[]);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is not in the page"));
    let parts = ["<h1>History</h1>", "not measured in pairs", "medians of each session"];
    assert!(parts.map(at).is_sorted() && at("medians of each") < at("Repeat</h2>"));
    let page = page_markdown(&sessions, "charts");
    let head = "## History\n\nThese sessions were not measured in pairs: a difference";
    assert!(page.contains(head), "{page}");
    assert!(
        page.contains("\n\n![Ethereum headers](charts/history-1-headers.svg)\n\n## "),
        "{page}"
    );
}

#[test]
fn another_machine_setting_or_build_is_another_line() {
    type Change = fn(&mut Session);
    let changes: [Change; 7] = [
        |session| session.machine.cpu = "Other CPU".into(),
        |session| session.machine.cores = 16,
        |session| session.machine.memory_bytes = 1 << 40,
        |session| session.machine.disk = Some(blockmill_pipeline::machine::Disk::default()),
        |session| session.program.profile = "dist".into(),
        |session| session.comparisons[0].case = "large".into(),
        |session| {
            session.comparisons[0].settings.insert("headers".into(), "5".into());
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut sessions = vec![session(OLD, 1, 1.0), session(NEW, 2, 1.0)];
        change(&mut sessions[1]);
        assert!(labels(&sessions).is_empty(), "change {at}");
        assert!(!html(&sessions, &[]).contains("<h1>History"), "change {at}");
        // two lines, each of two sessions
        sessions.extend([session(OLD, 3, 1.0), session(NEW, 4, 1.0)]);
        change(&mut sessions[2]);
        assert_eq!(labels(&sessions).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2], "{at}");
    }
}

#[test]
fn settings_that_differ_are_in_the_titles() {
    let mut sessions = vec![
        session(OLD, 1, 1.0),
        session(NEW, 2, 1.0),
        session(OLD, 3, 9.0),
        session(NEW, 4, 9.0),
    ];
    for (at, headers) in ["10", "10", "90", "90"].into_iter().enumerate() {
        let all = [("headers", headers), ("seed", "1")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        sessions[at].comparisons[0].settings = all.into();
    }
    let all = charts(&sessions);
    let titles: Vec<_> = all.iter().map(|(name, chart)| (name.as_str(), chart.title())).collect();
    let expected = [
        ("history-1-headers", "Ethereum headers · headers 10"),
        ("history-2-headers", "Ethereum headers · headers 90"),
    ];
    assert_eq!(titles, expected);
}

#[test]
fn one_revision_is_no_history_and_other_revisions_are_not_the_session() {
    let sessions = [session(OLD, 1, 1.0), session(OLD, 2, 1.1)];
    assert!(labels(&sessions).is_empty(), "noise alone");
    let mut sessions = vec![session(OLD, 1, 1.0), session(NEW, 2, 1.0)];
    let all = [("v1", 5.0), ("this program", 1.0)];
    sessions[1].comparisons = vec![sample::comparison("revisions", &all)];
    sessions[1].comparisons[0].variants[..2]
        .iter_mut()
        .for_each(|one| one.revision = Some("v1".into()));
    let [history] = &histories(&sessions)[..] else { panic!("one history") };
    let median = |at: usize| history.sessions[at].point(at, "wall_s").unwrap().value;
    assert!((0.9..1.1).contains(&median(1)), "this program, not the baseline");
    sessions[1].comparisons[0].variants.truncate(2);
    assert!(labels(&sessions).is_empty(), "the session did not measure its own program");
}
