//! Series over the chain, computed from the chunks of records and thinned for a chart.

use blockmill_pipeline::record::{BLOCKS, CHUNK, Column, END_S, FIRST, RunRecord, SLICE, START_S};

use super::axis::Axis;
use crate::runs::{Drawn, drawn};

/// Most points of one line: more cannot be distinguished, and a page must stay small.
pub(super) const MOST_POINTS: usize = 240;

/// Points of a line along the clock.
const STEPS: usize = 60;

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the line is called.
    pub label: String,
    /// Place among all that are drawn; decides the colour.
    pub place: usize,
    /// Block number, or whatever else the lower axis counts, and value.
    pub points: Vec<(f64, f64)>,
    /// What the line goes through, if the points are drawn as dots; the points otherwise.
    pub line: Option<Vec<(f64, f64)>>,
    /// The interval of each point, in the order of the points; none of further points.
    pub intervals: Vec<Option<(f64, f64)>>,
}

impl Series {
    /// The points above the end of an axis, and the largest of them.
    pub(super) fn beyond(&self, axis: &Axis) -> impl Iterator<Item = f64> {
        self.points.iter().map(|point| point.1).filter(|value| axis.is_exceeded_by(*value))
    }

    /// The points that its line goes through.
    pub fn line(&self) -> &[(f64, f64)] {
        self.line.as_ref().unwrap_or(&self.points)
    }
}

/// What a chunk of a record took in one phase, or in some of them.
struct Chunk {
    first: f64,
    blocks: f64,
    seconds: f64,
    /// When it had left the last phase.
    end_s: f64,
}

/// The chunks of a record. It may hold anything, and one wrong number would spoil every sum after
/// it.
fn chunks(record: &RunRecord, phases: &[&str]) -> Vec<Chunk> {
    let Some(series) = record.series(CHUNK) else { return vec![] };
    let at = |values: &[f64], row: usize| values.get(row).copied().unwrap_or(0.0);
    let measured = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
    let (first, blocks, end_s) =
        (series.values(FIRST), series.values(BLOCKS), series.values(END_S));
    let phases: Vec<&[f64]> = phases.iter().map(|phase| series.values(phase)).collect();
    let chunk = |row: usize| Chunk {
        first: measured(at(first, row)),
        blocks: measured(at(blocks, row)),
        seconds: phases.iter().map(|phase| measured(at(phase, row))).sum(),
        end_s: measured(at(end_s, row)),
    };
    (0..series.len()).map(chunk).collect()
}

/// A series for each run that has chunks.
fn per_run(
    records: &[RunRecord],
    phases: &[&str],
    points: impl Fn(&[Chunk]) -> Vec<(f64, f64)>,
) -> Vec<Series> {
    let series = |run: Drawn<'_>| {
        let chunks = chunks(run.record, phases);
        let label = crate::format::printable(&run.name);
        // one chunk is no course of anything
        let points = if chunks.len() < 2 { return None } else { points(&chunks) };
        (points.len() > 1).then_some(Series {
            label,
            place: run.place,
            points,
            line: None,
            intervals: vec![],
        })
    };
    drawn(records).into_iter().filter_map(series).collect()
}

/// Seconds of all of `phases` since the first chunk, at the end of each chunk.
pub(super) fn accumulated(records: &[RunRecord], phases: &[&str]) -> Vec<Series> {
    per_run(records, phases, |chunks| {
        let mut sum = 0.0;
        let mut points: Vec<(f64, f64)> = vec![(chunks[0].first, 0.0)];
        let every = chunks.len().div_ceil(MOST_POINTS);
        for (at, chunk) in chunks.iter().enumerate() {
            sum += chunk.seconds;
            if (at + 1) % every == 0 || at + 1 == chunks.len() {
                points.push((chunk.first + chunk.blocks, sum));
            }
        }
        points
    })
}

/// Milliseconds of one phase for `unit` blocks, with their trend as a line. Neighbouring chunks
/// share a point when there are too many of them.
pub(super) fn per_chunk(records: &[RunRecord], unit: f64, phase: &str) -> Vec<Series> {
    let mut all = per_run(records, &[phase], |chunks| {
        let group = chunks.len().div_ceil(MOST_POINTS);
        let mean = |chunks: &[Chunk]| {
            let blocks = chunks.iter().map(|chunk| chunk.blocks).sum::<f64>();
            let time = chunks.iter().map(|chunk| chunk.seconds).sum::<f64>();
            let middle = chunks[0].first + blocks / 2.0;
            (blocks > 0.0).then(|| (middle, time * 1e3 / blocks * unit))
        };
        chunks.chunks(group).filter_map(mean).collect()
    });
    for series in &mut all {
        series.line = Some(trend(&series.points));
    }
    all
}

/// Blocks in a second along the clock on the wall, in steps of a sixtieth of the chunks.
pub(super) fn speed(records: &[RunRecord]) -> Vec<Series> {
    per_run(records, &[], |chunks| {
        let (mut points, mut before) = (vec![], 0.0);
        for step in chunks.chunks(chunks.len().div_ceil(STEPS)) {
            let blocks: f64 = step.iter().map(|chunk| chunk.blocks).sum();
            let end = step.iter().map(|chunk| chunk.end_s).fold(before, f64::max);
            if end > before {
                points.push((end, blocks / (end - before)));
            }
            before = end;
        }
        points
    })
}

/// How many threads were in each stage of one run, in the middle of each slice of its time.
pub(super) fn busy_over_time(record: &RunRecord) -> Vec<Series> {
    let Some(slices) = record.series(SLICE) else { return vec![] };
    let starts = slices.values(START_S);
    let [first, second, ..] = *starts else { return vec![] };
    let width = second - first;
    let stage = |(place, column): (usize, &Column)| {
        let point = |(start, busy): (&f64, &f64)| (start + width / 2.0, busy / width);
        let points = starts.iter().zip(&column.values).map(point);
        let points = points.filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        let label = crate::format::printable(&column.name);
        Series { label, place, points, line: None, intervals: vec![] }
    };
    let stages = slices.columns.iter().filter(|column| column.name != START_S);
    stages.enumerate().map(stage).collect()
}

/// How many chunks share a point of [`per_chunk`], at most.
pub(super) fn chunks_in_a_point(records: &[RunRecord]) -> usize {
    let number = |record: &RunRecord| {
        record.series(CHUNK).map_or(0, blockmill_pipeline::record::Series::len)
    };
    records.iter().map(|record| number(record).div_ceil(MOST_POINTS)).max().unwrap_or(1)
}

/// First block and end of the chunks that are drawn.
pub(super) fn block_range(records: &[RunRecord]) -> Option<(f64, f64)> {
    let all = drawn(records).into_iter().flat_map(|run| chunks(run.record, &[]));
    let ends = all.map(|chunk| (chunk.first, chunk.first + chunk.blocks));
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The size that most chunks of the first record with chunks have: its first one's.
pub(super) fn chunk_size(records: &[RunRecord]) -> Option<f64> {
    records.iter().find_map(|record| Some(chunks(record, &[]).first()?.blocks.max(1.0)))
}

/// The running median of `points`, over a twelfth of them: the trend without the spikes.
pub(super) fn trend(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
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
    use blockmill_pipeline::record::{CHECK_VERIFY, ChunkTimes, WRITE};

    #[test]
    fn accumulated_line_ends_at_the_totals() {
        let record = sample::full("x", 1.0);
        let total = record.busy_s(CHECK_VERIFY) + record.busy_s(WRITE);
        let series = accumulated(&[sample::bare("none"), record], &[CHECK_VERIFY, WRITE]);
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
        let chunks = [
            ChunkTimes { blocks: 100, busy_s: vec![0.1], ..ChunkTimes::default() },
            ChunkTimes { first: 100, blocks: 50, busy_s: vec![0.05], end_s: 0.0 },
            ChunkTimes { first: 150, ..ChunkTimes::default() },
        ];
        record.series = vec![blockmill_pipeline::record::Series::of_chunks(&chunks, &[WRITE])];
        let series = per_chunk(&[record], 100.0, WRITE);
        assert_eq!(series[0].points, [(50.0, 100.0), (125.0, 100.0)]);
    }

    #[test]
    fn speed_is_of_the_time_between_the_ends_of_steps() {
        let series = speed(&[sample::full("x", 1.0)]);
        let (first, last) = (series[0].points[0], series[0].points.last().unwrap());
        // nine chunks of 2,048 blocks, 2 ms each
        assert!((first.0 - 0.018).abs() < 1e-9 && (first.1 - 1_024_000.0).abs() < 1.0, "{first:?}");
        assert!((last.0 - 0.978).abs() < 1e-9 && series[0].points.len() <= STEPS, "{last:?}");
        assert!(speed(&[sample::bare("x")]).is_empty());
    }

    #[test]
    fn trend_leaves_a_spike_out() {
        let mut points: Vec<(f64, f64)> = (0..48).map(|at| (f64::from(at), 1.0)).collect();
        points[20].1 = 90.0;
        assert!(trend(&points).iter().all(|(_, value)| *value == 1.0));
    }
}
