//! Series over the chain, made from the chunks of records and thinned to what a chart can show.

use pipeline::record::{ChunkTimes, RunRecord};

use crate::group::{by_label, drawn};

/// The most points of one line: more cannot be told apart, and a page must stay small.
const MOST_POINTS: usize = 240;

/// One line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub label: String,
    /// Place of the label among all labels of the records; decides the colour.
    pub place: usize,
    /// Block number, or number of objects, and value.
    pub points: Vec<(f64, f64)>,
}

/// A series for each label whose typical run has chunks.
fn per_label(records: &[RunRecord], points: impl Fn(&RunRecord) -> Vec<(f64, f64)>) -> Vec<Series> {
    let series = |(place, record): (usize, &RunRecord)| {
        let label = crate::format::printable(&record.label);
        Series { label, place, points: points(record) }
    };
    let drawn = drawn(&by_label(records)).into_iter();
    drawn.filter(|(_, record)| !record.chunks.is_empty()).map(series).collect()
}

/// A time as a clock gives it. A record may hold anything, and one wrong number would spoil every
/// sum after it.
fn measured(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.max(0.0) } else { 0.0 }
}

/// The time that a chunk took in a phase, if the run has it.
fn busy(chunk: &ChunkTimes, phase: Option<usize>) -> f64 {
    measured(phase.and_then(|at| chunk.busy_s.get(at)).copied().unwrap_or(0.0))
}

/// Seconds of all of `phases` since the first chunk, at the end of each chunk.
pub(crate) fn accumulated(records: &[RunRecord], phases: &[&str]) -> Vec<Series> {
    per_label(records, |record| {
        let chunks = &record.chunks;
        let phases: Vec<_> = phases.iter().map(|phase| record.phase(phase)).collect();
        let mut sum = 0.0;
        let mut points: Vec<(f64, f64)> = vec![(chunks[0].first as f64, 0.0)];
        let every = chunks.len().div_ceil(MOST_POINTS);
        for (at, chunk) in chunks.iter().enumerate() {
            sum += phases.iter().map(|phase| busy(chunk, *phase)).sum::<f64>();
            if (at + 1) % every == 0 || at + 1 == chunks.len() {
                points.push((chunk.first as f64 + chunk.blocks as f64, sum));
            }
        }
        points
    })
}

/// Milliseconds of one phase for `unit` blocks. Neighbouring chunks share a point when
/// there are too many of them.
pub(crate) fn per_chunk(records: &[RunRecord], unit: u64, phase: &str) -> Vec<Series> {
    per_label(records, |record| {
        let (chunks, phase) = (&record.chunks, record.phase(phase));
        let group = chunks.len().div_ceil(MOST_POINTS);
        let mean = |chunks: &[ChunkTimes]| {
            let blocks = chunks.iter().map(|chunk| chunk.blocks as f64).sum::<f64>();
            let time = chunks.iter().map(|chunk| busy(chunk, phase)).sum::<f64>();
            let middle = chunks[0].first as f64 + blocks / 2.0;
            (blocks > 0.0).then(|| (middle, time * 1e3 / blocks * unit as f64))
        };
        chunks.chunks(group).filter_map(mean).collect()
    })
}

/// How many chunks share a point of [`per_chunk`], at most.
pub(crate) fn chunks_in_a_point(records: &[RunRecord]) -> usize {
    records.iter().map(|record| record.chunks.len().div_ceil(MOST_POINTS)).max().unwrap_or(1)
}

/// First block and end of the chunks that are drawn.
pub(crate) fn block_range(records: &[RunRecord]) -> Option<(f64, f64)> {
    let chunks = drawn(&by_label(records)).into_iter().flat_map(|(_, record)| &record.chunks);
    let ends = chunks.map(|c| (c.first as f64, c.first as f64 + c.blocks as f64));
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The size that most chunks of the first record with chunks have: its first one's.
pub(crate) fn chunk_size(records: &[RunRecord]) -> Option<u64> {
    let first = records.iter().find_map(|record| record.chunks.first())?;
    Some(first.blocks.max(1))
}

/// The running median of `points`, over a twelfth of them: the trend without the spikes.
pub(crate) fn trend(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let half = (points.len() / 24).max(1);
    let median = |at: usize| {
        let window = &points[at.saturating_sub(half)..(at + half + 1).min(points.len())];
        let mut values: Vec<f64> = window.iter().map(|(_, value)| *value).collect();
        values.sort_unstable_by(f64::total_cmp);
        (points[at].0, values[values.len() / 2])
    };
    (0..points.len()).map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use pipeline::record::{VALIDATION, WRITE};

    #[test]
    fn accumulated_line_ends_at_the_totals() {
        let record = sample::full("x", 1.0);
        let total = record.busy_s(VALIDATION) + record.busy_s(WRITE);
        let series = accumulated(&[sample::bare("none"), record], &[VALIDATION, WRITE]);
        assert_eq!((series.len(), series[0].place), (1, 1));
        let (block, seconds) = *series[0].points.last().unwrap();
        assert_eq!(block, 1_000_000.0);
        assert!((seconds - total).abs() < 1e-9);
        assert!(series[0].points.len() <= MOST_POINTS + 1);
        assert_eq!(series[0].points[0], (0.0, 0.0));
    }

    #[test]
    fn chunks_of_another_size_are_put_on_the_same_scale() {
        let mut record = sample::bare("x");
        record.chunks = vec![
            ChunkTimes { blocks: 100, busy_s: vec![0.0, 0.0, 0.0, 0.1], ..ChunkTimes::default() },
            ChunkTimes { first: 100, blocks: 50, busy_s: vec![0.0, 0.0, 0.0, 0.05], end_s: 0.0 },
            ChunkTimes { first: 150, ..ChunkTimes::default() },
        ];
        let series = per_chunk(&[record], 100, WRITE);
        assert_eq!(series[0].points, [(50.0, 100.0), (125.0, 100.0)]);
    }

    #[test]
    fn trend_leaves_a_spike_out() {
        let mut points: Vec<(f64, f64)> = (0..48).map(|at| (f64::from(at), 1.0)).collect();
        points[20].1 = 90.0;
        assert!(trend(&points).iter().all(|(_, value)| *value == 1.0));
    }
}
