//! Pages of results from sample comparisons.

use super::*;
use crate::findings::Comparison;
use crate::report::sample;

fn session(started_unix: f64, comparisons: Vec<Comparison>) -> Session {
    let mut session = Session { schema: crate::session::SCHEMA, ..Session::default() };
    (session.started_unix, session.comparisons) = (started_unix, comparisons);
    session.machine.cpu = "CPU".into();
    session.machine.cores = 2;
    session
}

fn ladder(first: f64) -> Comparison {
    let mut comparison =
        sample::comparison("ladder", &[("blockmill", 0.5), ("one by one", first), ("step", 0.8)]);
    comparison.variants[2].against = 2;
    comparison.variants[3].against = 2;
    comparison
}

fn text<'a>(results: &'a Results, file: &str) -> &'a str {
    let found = results.pages.iter().find(|(name, _)| name == file);
    found.map_or("", |(_, text)| text)
}

#[test]
fn the_newest_comparison_with_an_interval_is_on_the_page_of_its_question() {
    let mut few = ladder(9.0);
    few.runs.retain(|run| run.block <= 1);
    let sessions = vec![
        session(1.0, vec![ladder(1.0)]),
        session(2.0, vec![ladder(2.0)]),
        session(3.0, vec![few]),
    ];
    let results = results(sessions, &[]);
    let files: Vec<&str> = results.pages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(files, ["index.md", "headers.md"]);
    for file in files {
        let page = text(&results, file);
        assert!(
            page.contains("blockmill is 4.00 times as fast as no optimisations"),
            "{file}: {page}"
        );
        assert!(!page.contains("2.00 times as fast as no"), "{file}: {page}");
    }
    let charts: Vec<&str> = results.charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(charts, ["headers-detail"], "one comparison needs no overview");
    assert!(text(&results, "headers.md").contains("](headers-detail.svg)"));
}

#[test]
fn steps_have_the_names_of_their_definition() {
    let definition = "title='New title'\nabout='a'\nmeasures='import'\ncompare=['wall_s']\n\
                      budget_s=1\n[[ladder]]\nname='no optimisations'\nabout='Does nothing fast.'";
    let definition = Definition::parse("headers", definition).unwrap();
    let results = results(vec![session(1.0, vec![ladder(1.0)])], &[definition]);
    let page = text(&results, "headers.md");
    assert!(page.contains("blockmill is 2.00 times as fast as no optimisations"), "{page}");
    assert!(
        page.contains("## New title") && page.contains("no optimisations: Does nothing fast."),
        "{page}"
    );
}

#[test]
fn threads_are_compared_with_one_and_more_cores_win() {
    let sweep = |sixteen: f64| {
        let all = [("2", 1.0), ("1", 2.0), ("16", sixteen)];
        let mut comparison = sample::comparison("sweep threads", &all);
        for (at, value) in [(0, "2"), (1, "2"), (2, "1"), (3, "16")] {
            comparison.variants[at].settings = [("threads".to_owned(), value.to_owned())].into();
        }
        comparison
    };
    let mut large = session(1.0, vec![sweep(0.25)]);
    large.machine.cores = 16;
    let results = results(vec![session(2.0, vec![sweep(0.5)]), large], &[]);
    let page = text(&results, "scaling.md");
    assert!(page.contains("16 threads are 8.00 times as fast as one"), "{page}");
    assert!(page.contains("CPU, 16 cores") && !page.contains("CPU, 2 cores"), "{page}");
}

#[test]
fn condensed_records_give_the_same_pages() {
    let mut unknown = ladder(3.0);
    unknown.definition = "something else".into();
    let sessions = vec![session(1.0, vec![ladder(1.0), unknown]), session(2.0, vec![ladder(2.0)])];
    let condensed = condensed(&sessions);
    let names: Vec<&str> = condensed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["2.json"], "the older session has nothing that is shown");
    let read = condensed.into_iter().map(|(_, json)| serde_json::from_value(json).unwrap());
    let read: Vec<Session> = read.collect();
    assert_eq!(read[0].comparisons[0].runs.len(), sessions[1].comparisons[0].runs.len());
    assert!(read[0].comparisons[0].runs.iter().all(|run| run.record.stages.is_empty()));
    assert_eq!(results(read, &[]).pages, results(sessions, &[]).pages);
}

#[test]
fn pages_have_a_table_of_few_operations_and_condensed_records_keep_it() {
    let with_operations = |count: usize| {
        let mut comparison = ladder(1.0);
        comparison.definition = "benchmark-tests".into();
        comparison.compare = vec!["mgas_per_s".into()];
        for run in &mut comparison.runs {
            let speed = if run.variant >= 2 { 50.0 } else { 100.0 };
            let speed = speed * (1.0 + f64::from(run.block % 3) / 1e3);
            run.record.facts.set("mgas_per_s", speed);
            for at in 0..count {
                run.record.facts.set(&format!("operation{at}.mgas_per_s"), speed);
                run.record.facts.set(&format!("operation{at}.gas"), 5000.0);
            }
        }
        vec![session(1.0, vec![comparison])]
    };
    for (count, is_shown) in [(3, true), (51, false)] {
        let sessions = with_operations(count);
        let read = condensed(&sessions).into_iter();
        let read: Vec<Session> =
            read.map(|(_, json)| serde_json::from_value(json).unwrap()).collect();
        let results = results(read, &[]);
        let page = text(&results, "execution.md");
        assert!(page.contains("2.00 times as fast"), "{:?}", results.pages);
        assert_eq!(page.contains("operation0"), is_shown, "{page}");
        assert!(!page.contains("| gas |"), "{page}");
    }
}
