//! The parts of a run that took longest: chunks, or blocks where they were measured alone.

use crate::executed::at;
use crate::table::{Cell, Table};
use crate::{executed, format};
use blockmill_pipeline::record::{BLOCK, BLOCKS, Column, FIRST, RunRecord, SLOWEST_BLOCK, Series};

/// How many are shown.
const SHOWN: usize = 8;
/// What a block did, as records and as tables call it.
const WORK: [(&str, &str); 5] = [
    ("gas", "gas"),
    ("transactions", "transactions"),
    ("account_reads", "accounts read"),
    ("slot_reads", "slots read"),
    ("changed", "changes"),
];

/// What the rows of [`table`] are.
pub fn title(record: &RunRecord) -> &'static str {
    if executed::blocks(record).is_some() { "Slowest blocks" } else { "Slowest chunks" }
}

/// The slowest rows of the series of times of `record`; none when it has none.
pub fn table(record: &RunRecord) -> Option<Table> {
    let has_times = |series: &&Series| {
        !series.values(FIRST).is_empty() && executed::phases(series).next().is_some()
    };
    // of many blocks not all are kept, but for the slowest ones
    let slowest = record.series(SLOWEST_BLOCK).filter(has_times);
    let series = slowest.or_else(|| record.series.iter().find(has_times))?;
    let all = record.series(BLOCK).filter(|_| slowest.is_some()).unwrap_or(series);
    let phases: Vec<&Column> = executed::phases(series).collect();
    let sum = |row: usize| phases.iter().map(|phase| at(&phase.values, row)).sum::<f64>();
    let mut rows: Vec<(f64, usize)> = (0..series.len()).map(|row| (sum(row), row)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mean = executed::phases(all).map(Column::sum).sum::<f64>() / all.len().max(1) as f64;
    let alone = slowest.is_some();
    let mut table = Table::new(if alone { &["block"] } else { &["from block", "blocks"] });
    table.heads.extend(["busy", "of the mean"].map(String::from));
    table.heads.extend(phases.iter().map(|phase| phase.name.clone()));
    let work: Vec<_> = WORK.iter().filter(|(name, _)| series.column(name).is_some()).collect();
    table.heads.extend(work.iter().map(|(_, shown)| (*shown).to_owned()));
    let count = |name: &str, row: usize| {
        let value = at(series.values(name), row);
        Cell::from(format::number(value, 0)).sorted(value)
    };
    for (all, row) in rows.into_iter().take(SHOWN) {
        let mut cells = vec![count(FIRST, row)];
        cells.extend((!alone).then(|| count(BLOCKS, row)));
        cells.extend([
            Cell::of_seconds(all),
            Cell::from(format::ratio(all / mean)).sorted(all / mean),
        ]);
        cells.extend(phases.iter().map(|phase| Cell::of_seconds(at(&phase.values, row))));
        cells.extend(work.iter().map(|(name, _)| count(name, row)));
        cells.extend(executed::reason(record, series, row).map(Cell::from));
        table.rows.push(cells);
    }
    if table.rows.first()?.len() > table.heads.len() {
        table.left.push(table.heads.len());
        table.heads.push("why".to_owned());
        let text = "times as much of the phase's work as the mean block had; where the work is \
                    usual, something else took the time: memory, the disk, others on the machine";
        table.notes.push(format!("why: the longest phase, and how many {text}"));
    }
    Some(table)
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
        assert_eq!(title(&record), "Slowest chunks");
        assert!(table(&sample::bare("x")).is_none());
    }

    #[test]
    fn blocks_stand_with_their_work_and_the_reason() {
        let record = sample::executed("x");
        let text = table(&record).unwrap().markdown();
        let lines: Vec<_> = text.lines().collect();
        let head = "| block | busy | of the mean | execute | root | gas | transactions | accounts \
                    read | slots read | changes | why |";
        assert_eq!((lines[0], lines[5]), (head, ""), "{text}");
        assert!(lines[6].starts_with("- why: the longest phase"), "{text}");
        let first = "| 7 | 12 ms | 4.42x | 10 ms | 2.00 ms | 30,000,000 | 100 | 300 | 2,200 | 50 \
                     | execute: 11.0x slots read |";
        assert_eq!(lines[2], first);
        assert_eq!(title(&record), "Slowest blocks");
    }
}
