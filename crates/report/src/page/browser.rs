//! A page in a real browser, for tests: it is quiet, and it fits. `bench` has this file as a module
//! of its own.
//!
//! Each page is put into frames of the widths of a phone and of a desk, whose documents a script
//! then reads; Chromium itself makes no window narrower than 500 pixels.

use serde_json::Value;
use std::fs;
use std::process::Command;

const WIDTHS: [u64; 3] = [360, 390, 1400];

/// Puts the page into frames and records what is visible as an attribute of the body.
const HOST: &str = r#"<!doctype html><meta charset="utf-8"><body><script>
const page = PAGE, widths = [360, 390, 1400], found = [];
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
  seen.scrolling = all("body *").filter((one) => one.scrollWidth > one.clientWidth + 1
    && /auto|scroll/.test(getComputedStyle(one).overflowX) && !one.matches(".scroll"))
    .map((one) => one.outerHTML.slice(0, 200));
  seen.edges = all(".scroll").filter((one) => one.scrollWidth > one.clientWidth + 1
    && !getComputedStyle(one).backgroundImage.includes("gradient")).length;
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
  seen.crossed = all("svg").flatMap((svg) => {
    const box = (part) => part.getBoundingClientRect();
    const upright = [...svg.querySelectorAll("polyline")].map(box).filter((line) =>
      line.width < 1 && line.height > 0);
    return [...svg.querySelectorAll("text")].filter((text) => upright.some((line) =>
      box(text).left + 1 < line.left && line.right < box(text).right - 1
      && box(text).top + 3 < line.bottom && line.top + 3 < box(text).bottom))
      .map((text) => text.textContent);
  });
  seen.text = inside.body.innerText;
  seen.rows = all("tbody tr").map((row) => [...row.cells].map((cell) => cell.firstChild.data));
  seen.hero = all(".hero b").map((figure) => figure.textContent);
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
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("CONSOLE"), "the browser reports an error:\n{log}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split("data-found=\"").nth(1).and_then(|rest| rest.split('"').next());
    let found = found.unwrap_or_else(|| panic!("nothing was found:\n{log}"));
    let found = found.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&found.replace("&nbsp;", "\u{a0}").replace("&amp;", "&")).unwrap()
}

/// Checks every page, in both widths and both colour schemes; returns what is visible on
/// the last.
pub(crate) fn check(page: &str) -> Value {
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
            assert_eq!(seen["scrolling"], serde_json::json!([]), "only marked boxes scroll");
            assert_eq!(seen["edges"], 0, "a table that scrolls has a visible edge");
            assert_eq!(seen["outside"], serde_json::json!([]), "texts outside of their charts");
            assert_eq!(seen["crossed"], serde_json::json!([]), "lines through texts");
            assert_eq!(seen["touching"], serde_json::json!([]), "texts upon each other");
            let tips = seen["tips"].as_array().unwrap();
            assert_eq!(seen["drawn"], tips.len(), "one drawing of each chart");
            assert!(!tips.is_empty() && tips.iter().all(|tip| tip != ""), "{tips:?}");
            last = seen;
        }
    }
    last
}

/// The texts of the row that begins with `first`.
pub(crate) fn row<'a>(seen: &'a Value, first: &str) -> Vec<&'a str> {
    let rows = seen["rows"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row[0] == first).unwrap_or_else(|| panic!("{first}: {rows:?}"));
    row.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap_or("")).collect()
}
