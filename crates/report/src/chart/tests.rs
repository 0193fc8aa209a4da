//! Charts as SVG.

use super::*;
use crate::sample;

#[test]
fn chart_has_its_size_and_both_lines() {
    let records = [sample::full("mod1", 2.0), sample::full("mod2", 1.0)];
    let svg = Chart::accumulated(&records).unwrap().svg();
    assert!(svg.starts_with("<svg width=\"1000\" height=\"506\" viewBox=\"0 0 1000 506\""));
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
            Chart::speed(&records),
            Chart::stages(&records[number as usize - 1]),
            Chart::threads(&records[number as usize - 1]),
            Chart::busy_over_time(&records[number as usize - 1]),
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
    let columns = &mut record.series[0].columns;
    for (at, odd) in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300].into_iter().enumerate() {
        for column in [0, 1, 4, 5, 6] {
            columns[column].values[at + column] = odd;
        }
        columns[0].values[at] = u64::MAX as f64;
    }
    columns[6].values.truncate(3);
    record.series[1].columns[1].values[0] = f64::NAN;
    record.series[1].columns[2].values.truncate(1);
    record.stages[0].busy_s = f64::NAN;
    record.threads[0].busy_s = f64::NAN;
    record.facts.set("setup_s", -1.0);
    let records = [record];
    for chart in [Chart::accumulated(&records), Chart::per_chunk(&records), Chart::time(&records)] {
        assert!(chart.unwrap().svg().ends_with("</svg>\n"));
    }
    for chart in [Chart::stages, Chart::threads, Chart::busy_over_time].map(|of| of(&records[0])) {
        assert!(!chart.unwrap().svg().contains("NaN"));
    }
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

#[test]
fn both_drawings_hold_the_same() {
    let chart = Chart::stages(&sample::full("x", 1.0)).unwrap();
    let [wide, narrow] = chart.drawings();
    for (drawing, width) in [(wide, 1000), (narrow, 400)] {
        assert!(drawing.starts_with(&format!("<svg width=\"{width}\"")), "{drawing}");
        assert!(drawing.contains(">80 % busy</text>") && !drawing.contains("Busy and waiting"));
    }
}

#[test]
fn a_line_over_names_has_intervals_a_band_and_always_the_last_name() {
    let names: Vec<String> = (0..40).map(|at| format!("name {at}\nday {at}")).collect();
    let points: Vec<(f64, f64)> = (0..40).map(|at| (f64::from(at), 5.0)).collect();
    let mut intervals = vec![None; points.len()];
    intervals[0] = Some((4.0, 6.0));
    let line = Some(points.clone());
    let series = series::Series { label: "a".into(), place: 0, points, line, intervals };
    let panel = lines::Panel::new("caption", axis::Axis::around(3.0, 7.0, 4), "s", vec![series]);
    let panels = vec![lines::Panel { band: Some((4.5, 5.5)), ..panel }];
    let x = axis::Axis::of_names(&names);
    let lines = LineChart { x, x_name: "name".into(), panels };
    let chart = Chart::of_lines("t".into(), String::new(), vec![], lines);
    let svg = chart.svg();
    assert!(svg.contains(">name 0</text>") && svg.contains(">name 39</text>"), "{svg}");
    assert!(!svg.contains(">name 38</text>"), "it would touch the last one");
    assert_eq!(svg.matches(">name ").count(), svg.matches(">day ").count(), "two lines");
    assert!(svg.contains(&palette::hex(palette::NOISE.light)), "the band");
    assert_eq!(svg.matches("stroke-width=\"1.5\"").count(), 3, "an interval and its two ends");
    let points = &chart.hover().unwrap()["panels"][0]["series"][0][2];
    assert_eq!(points[0], json!([0.0125, "name 0 day 0", 5.0, 4.0, 6.0]));
    assert_eq!(points[1], json!([0.0375, "name 1 day 1", 5.0]));
}
