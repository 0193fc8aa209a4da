//! Charts as SVG.

use super::*;
use crate::sample;

#[test]
fn chart_has_its_size_and_both_lines() {
    let records = [sample::full("mod1", 2.0), sample::full("mod2", 1.0)];
    let svg = Chart::accumulated(&records).unwrap().svg();
    assert!(svg.starts_with("<svg width=\"1000\" height=\"548\" viewBox=\"0 0 1000 548\""));
    let has = |ink: palette::Ink| svg.contains(&palette::hex(ink.light));
    for ink in [palette::PAPER, palette::GRID, palette::series(0), palette::series(1)] {
        assert!(has(ink), "{ink:?} is not in the picture");
    }
    assert!(!has(palette::series(2)));
}

#[test]
fn svg_takes_any_label_as_text() {
    let chart = Chart::accumulated(&[sample::full("<script>&\"", 1.0)]).unwrap();
    let svg = chart.svg();
    assert!(svg.contains("&lt;script&gt;&amp;&quot;") && !svg.contains("<script>"));
}

#[test]
fn all_charts_are_drawn_for_one_to_twelve_labels() {
    let mut records = Vec::new();
    for number in 1..=12 {
        records.push(sample::full(&format!("label {number}"), f64::from(number)));
        let charts = [
            Chart::accumulated(&records),
            Chart::per_chunk(&records),
            Chart::time(&records),
            Chart::stages(&records[number as usize - 1]),
        ];
        for chart in charts {
            let svg = chart.unwrap().svg();
            assert!(svg.ends_with("</svg>\n") && svg.contains(&format!("label {number}")));
        }
    }
}

#[test]
fn records_without_times_give_no_chart_instead_of_an_empty_one() {
    let records = [sample::bare("x")];
    assert!(Chart::accumulated(&records).is_none() && Chart::per_chunk(&records).is_none());
    assert!(Chart::time(&records).is_none() && Chart::stages(&records[0]).is_none());
    assert!(Chart::accumulated(&[]).is_none() && Chart::time(&[]).is_none());
}

#[test]
fn odd_figures_are_drawn_without_a_panic() {
    let mut record = sample::full("x", 1.0);
    for (at, odd) in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300].into_iter().enumerate() {
        record.chunks[at].busy_s = vec![0.0, 0.0, odd, odd];
        record.chunks[at].first = u64::MAX;
    }
    record.stages[0].busy_s = f64::NAN;
    record.totals.busy_s[0] = -1.0;
    let records = [record];
    for chart in [Chart::accumulated(&records), Chart::per_chunk(&records), Chart::time(&records)] {
        assert!(chart.unwrap().svg().ends_with("</svg>\n"));
    }
    assert!(!Chart::stages(&records[0]).unwrap().svg().contains("NaN"));
}

#[test]
fn far_apart_labels_get_a_logarithmic_scale() {
    let near = Chart::per_chunk(&[sample::full("a", 1.0), sample::full("b", 3.0)]);
    let far = Chart::per_chunk(&[sample::full("a", 1.0), sample::full("b", 40.0)]);
    let is_log = |chart: Option<Chart>| chart.unwrap().svg().contains("logarithmic scale");
    assert!(!is_log(near) && is_log(far));
}

#[test]
fn chart_is_written_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let chart = Chart::stages(&sample::full("x", 1.0)).unwrap();
    let path = folder.path().join("a.svg");
    chart.write(&path).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), chart.svg());
    assert!(chart.write(&folder.path().join("no/a.svg")).is_err());
}
