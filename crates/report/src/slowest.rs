//! The parts of a run that took longest: chunks, or blocks where they were measured alone.

use crate::format;
use crate::table::{Cell, Table};
use pipeline::record::{BLOCKS, Column, FIRST, RunRecord, Series};

/// How many are shown.
const SHOWN: usize = 8;

/// The slowest rows of the series of times of `record`; none when it has none.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let has_times = |series: &&Series| {
        !series.values(FIRST).is_empty() && series.measurements().any(|column| column.unit == "s")
    };
    // of many blocks not all are kept, but for the slowest ones
    let slowest = record.series("slowest block").filter(has_times);
    let series = slowest.or_else(|| record.series.iter().find(has_times))?;
    let all = record.series("block").filter(|_| slowest.is_some()).unwrap_or(series);
    let phases: Vec<&Column> = series.measurements().filter(|column| column.unit == "s").collect();
    let at = |values: &[f64], row: usize| values.get(row).copied().unwrap_or(0.0);
    let sum = |row: usize| phases.iter().map(|phase| at(&phase.values, row)).sum::<f64>();
    let mut rows: Vec<(f64, usize)> = (0..series.len()).map(|row| (sum(row), row)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let busy = all.measurements().filter(|column| column.unit == "s").map(Column::sum);
    let mean = busy.sum::<f64>() / all.len().max(1) as f64;
    let mut table = Table::new(&["from block", "blocks", "busy", "of the mean"]);
    table.heads.extend(phases.iter().map(|phase| phase.name.clone()));
    let time = |seconds: f64| Cell::from(format::duration(seconds)).sorted(seconds);
    for (all, row) in rows.into_iter().take(SHOWN) {
        let (first, blocks) = (at(series.values(FIRST), row), at(series.values(BLOCKS), row));
        let mut cells = vec![
            Cell::from(format::number(first, 0)).sorted(first),
            Cell::from(format::number(blocks, 0)).sorted(blocks),
            time(all),
            Cell::from(format::ratio(all / mean)).sorted(all / mean),
        ];
        cells.extend(phases.iter().map(|phase| time(at(&phase.values, row))));
        table.rows.push(cells);
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_slowest_stand_first() {
        let mut record = sample::full("x", 1.0);
        let chunks = &mut record.series[0].columns;
        chunks[5].values[7] = 2.5;
        let text = table(&record).unwrap().markdown();
        let first = text.lines().nth(2).unwrap();
        assert!(first.starts_with("| 14,336 | 2,048 | 2.50 s | "), "{text}");
        assert!(first.contains("| 2.50 s |"), "of validation: {text}");
        assert_eq!(text.lines().count(), 2 + SHOWN);
        assert!(table(&sample::bare("x")).is_none());
    }
}
