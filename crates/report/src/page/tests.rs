//! The page as a whole: what it holds, and that text of records stays text.

use super::*;
use crate::sample;

const HOSTILE: &str = "</script><script>alert(1)</script><!--\"'&";

fn page(records: &[RunRecord]) -> String {
    html(records)
}

#[test]
fn nothing_in_a_record_becomes_markup() {
    let mut record = sample::full(HOSTILE, 1.0);
    record.data.chain = HOSTILE.into();
    record.data.paths = vec![HOSTILE.into()];
    record.machine.cpu = HOSTILE.into();
    record.options.insert(HOSTILE.into(), HOSTILE.into());
    record.notes.push(HOSTILE.into());
    record.stages[0].name = HOSTILE.into();
    record.result.error = Some(HOSTILE.into());
    for records in [vec![record.clone()], vec![record, sample::full("other", 2.0)]] {
        let page = page(&records);
        assert!(!page.contains("<script>alert") && !page.contains("<!--"));
        assert_eq!(page.matches("<script").count(), 2, "its own two");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }
}

#[test]
fn no_request_leaves_the_page() {
    let page = page(&[sample::full("a", 1.0), sample::full("b", 2.0)]);
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn embedded_records_read_back() {
    let records = [sample::full(HOSTILE, 1.0)];
    let page = page(&records);
    let start = page.find("id=\"records\">").unwrap() + "id=\"records\">".len();
    let json = page[start..].split("</script>").next().unwrap();
    let mut all: serde_json::Value = serde_json::from_str(json).unwrap();
    let back: Vec<RunRecord> = serde_json::from_value(all["runs"].take()).unwrap();
    assert!(back == records);
}

#[test]
fn page_of_many_runs_has_tables_charts_and_keys() {
    let page = page(&[sample::full("mod1", 2.0), sample::full("mod2", 1.0)]);
    for part in ["Side by side", "Stages", "Along the chain", "Commands"] {
        assert!(page.contains(&format!("<h2>{part}</h2>")), "{part}");
    }
    let charts = 4 + 2 * 3; // of all, and what the time of each went into
    assert_eq!(page.matches("<svg").count(), 2 * charts, "wide and narrow");
    assert_eq!(
        page.matches("aria-pressed=\"true\"").count(),
        10,
        "two lines in three charts, two stages of each"
    );
    let sentence = "mod1 took 2.00 s, mod2 took 1.00 s. One run of each does not say which is \
                    faster, because two equal runs differ, too: for a verdict, use blockmill \
                    bench.</p>";
    assert!(page.contains(sentence), "{page}");
    for claim in ["times as fast", "x as fast", "against the first", ">fastest<", "shortest"] {
        assert!(!page.contains(claim), "{claim}");
    }
}

#[test]
fn page_of_one_run_says_what_was_checked() {
    let page = page(&[sample::full("import", 1.0)]);
    assert!(page.contains("<dt>seals</dt><dd>1/100 checked (10,031), seed 42</dd>"));
    assert!(!page.contains("<h2>Side by side</h2>"));
    let keys = page.matches("aria-pressed=\"true\"").count();
    assert_eq!(keys, 2, "of its stages over time; its other lines have none");
    assert!(page.contains("<h2>Slowest chunks</h2>"));
}

#[test]
fn page_of_block_files_has_their_words() {
    let page = page(&[sample::reindexed("import")]);
    for part in [
        "<b>10,000</b> <span class=\"faint\">inputs a second connected</span>",
        "<dt>coins</dt><dd>3,900 left",
        "Prepare, connect, check and finish, accumulated",
        ">prepare<",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for foreign in ["<dt>seals", "<dt>anchor", "Validation and write"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn empty_and_bare_records_give_a_page() {
    assert!(page(&[]).contains("no runs"));
    let page = page(&[sample::bare("x")]);
    assert!(page.contains("1,000,000 blocks") && !page.contains("<svg"));
}
