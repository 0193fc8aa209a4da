//! The page in a real browser: it is quiet, it fits, and what it shows is what the records say.
//!
//! Each page is put into frames of the widths of a phone and of a desk, whose documents a script
//! then reads; Chromium itself makes no window narrower than 500 pixels.

use super::*;
use crate::contest::{blocks, median, name};
use crate::fact::Unit;
use crate::sample;
use blockmill_bench::findings::Contest;
use serde_json::Value;
use std::fs;
use std::process::Command;

const WIDTHS: [u64; 2] = [360, 1400];

/// Puts the page into frames and leaves what it sees as an attribute of the body.
const HOST: &str = r#"<!doctype html><meta charset="utf-8"><body><script>
const page = PAGE, widths = [360, 1400], found = [];
const wait = () => new Promise((done) => setTimeout(done, 30));
async function look(width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.srcdoc = page;
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; });
  const inside = frame.contentDocument, all = (what) => [...inside.querySelectorAll(what)];
  for (const details of all("details")) details.open = true;
  await wait();
  const { contentWindow: { innerWidth, matchMedia, PointerEvent, getComputedStyle } } = frame;
  const seen = { innerWidth, scrollWidth: inside.documentElement.scrollWidth };
  seen.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  seen.paper = getComputedStyle(inside.documentElement).backgroundColor;
  seen.drawn = all("svg").filter((svg) => svg.getBoundingClientRect().width > 0).length;
  seen.wide = all("body *").filter((one) => !one.closest(".scroll, svg")
    && one.getBoundingClientRect().right > innerWidth).map((one) => one.outerHTML.slice(0, 200));
  seen.outside = all("svg text").filter((text) => {
    const [box, svg] = [text, text.ownerSVGElement].map((part) => part.getBoundingClientRect());
    return box.width > 0 && (box.left < svg.left - 1 || box.right > svg.right + 1);
  }).map((text) => text.textContent);
  seen.touching = all("svg").flatMap((svg) => {
    const texts = [...svg.querySelectorAll("text")].map((text) =>
      [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
    return texts.flatMap(([one, a], at) => texts.slice(at + 1).filter(([, b]) =>
      a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
      .map(([other]) => `${one} | ${other}`));
  });
  seen.text = inside.body.innerText;
  seen.rows = all("tbody tr").map((row) => [...row.cells].map((cell) => cell.firstChild.data));
  seen.cards = all(".card b").map((card) => card.textContent);
  seen.records = JSON.parse(inside.getElementById("records").textContent);
  seen.tips = [];
  for (const sheet of all(".sheet").filter((one) => one.getBoundingClientRect().width > 0)) {
    const part = sheet.querySelector("g[aria-label]") ?? sheet;
    const box = sheet.getBoundingClientRect();
    const clientX = box.left + box.width / 2, clientY = box.top + 90;
    part.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
    seen.tips.push(inside.querySelector(".tip").innerText);
  }
  const column = (at) => [...inside.querySelector("tbody").rows].map((row) =>
    Number(row.cells[at].dataset.sort ?? NaN)).filter((value) => !isNaN(value));
  const head = inside.querySelectorAll("table:first-of-type th.sorts")[1];
  head?.click();
  seen.sorted = head ? column(1) : [];
  found.push(seen);
}
(async () => {
  for (const width of widths) await look(width);
  document.body.dataset.found = JSON.stringify(found);
})();
</script></body>"#;

/// What the browser sees of `page` in each width.
fn look(page: &str, dark: bool) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.html");
    let quoted = serde_json::to_string(page).unwrap().replace('<', "\\u003c");
    fs::write(&path, HOST.replace("PAGE", &quoted)).unwrap();
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
    let output = Command::new(blockmill_testkit::path_of("chromium"))
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--window-size=1500,900", "--virtual-time-budget=20000", "--dump-dom", &scheme])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("CONSOLE"), "the browser complains:\n{told}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split("data-found=\"").nth(1).and_then(|rest| rest.split('"').next());
    let found = found.unwrap_or_else(|| panic!("nothing was found:\n{told}"));
    let found = found.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&found.replace("&nbsp;", "\u{a0}").replace("&amp;", "&")).unwrap()
}

/// What must be true of every page, in both widths and both colour schemes; gives what is seen on
/// the last.
fn check(page: &str) -> Value {
    let mut last = Value::Null;
    for dark in [false, true] {
        let seen = look(page, dark);
        assert_eq!(seen.len(), WIDTHS.len());
        for (seen, width) in seen.into_iter().zip(WIDTHS) {
            assert_eq!(seen["innerWidth"], width);
            assert_eq!(seen["dark"], dark);
            let paper = ["rgb(255, 255, 255)", "rgb(22, 27, 34)"][usize::from(dark)];
            assert_eq!(seen["paper"], paper);
            let wide = seen["scrollWidth"].as_u64().unwrap();
            assert!(wide <= width, "{wide} pixels of {width}: {}", seen["wide"]);
            assert_eq!(seen["outside"], serde_json::json!([]), "texts outside of their charts");
            assert_eq!(seen["touching"], serde_json::json!([]), "texts upon each other");
            let tips = seen["tips"].as_array().unwrap();
            assert_eq!(seen["drawn"], tips.len(), "one drawing of each chart");
            assert!(!tips.is_empty() && tips.iter().all(|tip| tip != ""), "{tips:?}");
            last = seen;
        }
    }
    last
}

fn sitting(contests: Vec<Contest>) -> Sitting {
    Sitting { contests, ..Sitting::default() }
}

fn row<'a>(seen: &'a Value, first: &str) -> Vec<&'a str> {
    let rows = seen["rows"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row[0] == first).unwrap_or_else(|| panic!("{first}: {rows:?}"));
    row.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap_or("")).collect()
}

#[blockmill_testkit::needs(chromium)]
#[test]
fn a_contest_is_shown_as_it_was() {
    let all = [("blockmill", 0.5), ("a long name of a rung, longer than usual", 1.0), ("mod", 0.8)];
    let mut contest = sample::contest("ladder", &all);
    contest.contestants[2].against = 2;
    contest.contestants[3].against = 2;
    let seen = check(&html(&[sitting(vec![contest.clone()])], &[]));
    let mut medians = vec![];
    for line in &blocks(&contest)[0].lines {
        let value = median(&contest, line.at, "wall_s").unwrap();
        medians.push(value);
        assert_eq!(row(&seen, &name(&contest, line.at))[1], Unit::Seconds.show(value));
    }
    medians.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(seen["sorted"], serde_json::json!(medians), "a click sorts");
    assert_eq!(row(&seen, "blockmill")[2], "1.60 times as fast");
    assert!(seen["cards"].as_array().unwrap().contains(&"2.00 times as fast".into()));
    let run = &contest.runs[7].record;
    let held = &seen["records"]["sittings"][0]["contests"][0]["runs"][7]["record"];
    assert_eq!(held["facts"]["wall_s"].as_f64(), Some(run.wall_s()));
}

#[blockmill_testkit::needs(chromium)]
#[test]
fn many_contests_of_all_shapes_fit() {
    let all = [("blockmill", 0.02), ("go-ethereum-v1.17.10-pebble-freezer", 1.3), ("geth", 1.31)];
    let shapes = ["ablation", "peers", "revisions", "alone", "sweep headers"];
    let contests = shapes.map(|shape| {
        let mut contest = sample::contest(shape, &all);
        for (at, one) in contest.contestants.iter_mut().enumerate() {
            one.peer = (shape == "peers" && at > 1).then(|| one.label.clone());
            let value = [1_000, 1_000, 1_000_000, 10_000_000][at].to_string();
            one.settings = [("headers".to_owned(), value)].into();
        }
        contest
    });
    let seen = check(&html(&[sitting(contests.into())], &[]));
    let text = seen["text"].as_str().unwrap();
    for expected in ["65.0 times as fast as", "The whole run grows with headers", "10,000,000"] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
}

#[blockmill_testkit::needs(chromium)]
#[test]
fn runs_are_shown_as_they_were() {
    let records = [sample::full("import", 2.0), sample::reindexed("import")];
    let seen = check(&html(&[], &records));
    assert_eq!(row(&seen, "whole run")[1..], ["2.00 s", "510 ms"]);
    let held: Vec<RunRecord> = serde_json::from_value(seen["records"]["runs"].clone()).unwrap();
    assert!(held == records, "the page holds the records");
    let seen = check(&html(&[], &records[..1]));
    let busy = crate::format::duration(records[0].busy_s("validation"));
    assert!(seen["cards"].as_array().unwrap().contains(&busy.into()), "{seen}");
    assert!(seen["text"].as_str().unwrap().contains("1/100 checked (10,031), seed 42"));
}
