//! Values measured along something: chunks of a chain, blocks, samples of an operation.

use serde::{Deserialize, Serialize, Serializer};

use super::Percentiles;
use crate::timeline::Timeline;

/// Chunks of a chain; has the columns [`FIRST`], [`BLOCKS`], [`END_S`] and the busy time of each
/// phase.
pub const CHUNK: &str = "chunk";
/// Samples of an operation; has the column [`TIME_NS`].
pub const SAMPLE: &str = "sample";
/// Slices of the time of a run, all of one length; has the column [`START_S`] and the busy time of
/// each stage.
pub const SLICE: &str = "slice";
/// Blocks that were executed, or some of very many: [`FIRST`], [`BLOCKS`] (1), what they did, and
/// the time of each phase.
pub const BLOCK: &str = "block";
/// Rows for the slowest blocks, the slowest first.
pub const SLOWEST_BLOCK: &str = "slowest block";
/// When a slice begins, counted from the start of the stages.
pub const START_S: &str = "start_s";
/// Number of the first block of a chunk.
pub const FIRST: &str = "first";
/// How many blocks a chunk holds.
pub const BLOCKS: &str = "blocks";
/// When a chunk left the last phase, counted from the start of the run.
pub const END_S: &str = "end_s";
/// Time of one operation of a sample.
pub const TIME_NS: &str = "time_ns";

/// Rows of measurements, kept by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// The kind of the rows: [`CHUNK`], `block`, [`SAMPLE`], ...
    pub row: String,
    /// The columns, all of one length, in the order in which they are shown.
    pub columns: Vec<Column>,
}

/// One figure of all rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    /// Its name. Times that belong to a phase have the name of the phase.
    pub name: String,
    /// `s`, `ns`, `bytes`, `block`, ...; empty for counts.
    pub unit: String,
    /// One for each row.
    #[serde(serialize_with = "shortly")]
    pub values: Vec<f64>,
    /// Percentiles of these values, if they are measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Percentiles>,
}

/// Writes whole numbers without a fraction: most of very many are counts.
fn shortly<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Number {
        Whole(i64),
        Other(f64),
    }
    // up to here each whole number is itself in both types
    const MOST: f64 = (1_u64 << 53) as f64;
    to.collect_seq(values.iter().map(|&value| {
        let is_whole = value.fract() == 0.0 && value.abs() <= MOST;
        if is_whole { Number::Whole(value as i64) } else { Number::Other(value) }
    }))
}

impl Series {
    /// No rows yet.
    pub fn new(row: &str) -> Self {
        Self { row: row.to_owned(), columns: vec![] }
    }

    /// Adds a column that identifies the rows.
    #[must_use]
    pub fn index(mut self, name: &str, unit: &str, values: Vec<f64>) -> Self {
        self.columns.push(Column { percentiles: None, ..Column::measured(name, unit, values) });
        self
    }

    /// Adds a column of measurements.
    #[must_use]
    pub fn measured(mut self, name: &str, unit: &str, values: Vec<f64>) -> Self {
        self.columns.push(Column::measured(name, unit, values));
        self
    }

    /// Adds the percentiles of every column of times; records of peers come without.
    #[must_use]
    pub fn with_percentiles(mut self) -> Self {
        for column in &mut self.columns {
            let is_index = [FIRST, BLOCKS, END_S].contains(&column.name.as_str());
            if !is_index && column.percentiles.is_none() {
                column.percentiles = Some(Percentiles::from_values(&mut column.values.clone()));
            }
        }
        self
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The values of the column of this name; empty if there is no such column.
    pub fn values(&self, name: &str) -> &[f64] {
        self.column(name).map_or(&[], |column| &column.values)
    }

    /// The columns of measurements, in order.
    pub fn measurements(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.percentiles.is_some())
    }
}

impl Column {
    fn measured(name: &str, unit: &str, values: Vec<f64>) -> Self {
        let percentiles = Some(Percentiles::from_values(&mut values.clone()));
        Self { name: name.to_owned(), unit: unit.to_owned(), values, percentiles }
    }

    /// The sum of all rows.
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }
}

/// Measurements of one chunk of a chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkTimes {
    /// Number of the first block of the chunk.
    pub first: u64,
    /// How many blocks the chunk holds.
    pub blocks: u64,
    /// Busy time in each phase.
    pub busy_s: Vec<f64>,
    /// When the chunk left the last phase, counted from the start of the run.
    pub end_s: f64,
}

impl Series {
    /// The series of `chunks`, with busy times for each of `phases`.
    pub fn of_chunks(chunks: &[ChunkTimes], phases: &[&str]) -> Self {
        let of = |figure: fn(&ChunkTimes) -> f64| chunks.iter().map(figure).collect();
        let mut series = Self::new(CHUNK)
            .index(FIRST, "block", of(|chunk| chunk.first as f64))
            .index(BLOCKS, "", of(|chunk| chunk.blocks as f64))
            .index(END_S, "s", of(|chunk| chunk.end_s));
        for (at, phase) in phases.iter().enumerate() {
            let busy = |chunk: &ChunkTimes| chunk.busy_s.get(at).copied().unwrap_or(0.0);
            series = series.measured(phase, "s", chunks.iter().map(busy).collect());
        }
        series
    }
}

impl Series {
    /// The series of the slices of a run's time: when each begins, and the busy time of each stage.
    pub fn of_slices(timeline: &Timeline) -> Self {
        let starts = (0..timeline.len()).map(|at| at as f64 * timeline.width_s()).collect();
        let mut series = Self::new(SLICE).index(START_S, "s", starts);
        for (at, name) in timeline.names().iter().enumerate() {
            series = series.measured(name, "s", timeline.busy_s(at).collect());
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_become_columns() {
        let chunk = |first, busy: [f64; 2]| {
            let (busy_s, end_s) = (busy.to_vec(), first as f64);
            ChunkTimes { first, blocks: 2048, busy_s, end_s }
        };
        let chunks = [chunk(0, [0.5, 0.25]), chunk(2048, [1.5, 0.25])];
        let series = Series::of_chunks(&chunks, &["read", "check", "write"]);
        assert_eq!((series.len(), series.values(FIRST)), (2, &[0.0, 2048.0][..]));
        assert_eq!(series.column("read").unwrap().sum(), 2.0);
        assert_eq!(series.values("write"), [0.0, 0.0], "it has not been there");
        assert_eq!(series.values("hash"), [0.0; 0]);
        let names: Vec<_> = series.measurements().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["read", "check", "write"]);
        let read = series.column("read").unwrap().percentiles.unwrap();
        assert_eq!((read.p50, read.max), (0.5, 1.5));
        assert!(Series::new(SAMPLE).is_empty());
    }

    #[test]
    fn whole_numbers_are_written_without_a_fraction() {
        let values = vec![0.0, -3.0, 2048.0, 0.25, 1e-9, 1e300];
        let column = Column { values, ..Column::default() };
        let text = serde_json::to_string(&column).unwrap();
        assert!(text.contains("[0,-3,2048,0.25,1e-9,"), "{text}");
        assert_eq!(serde_json::from_str::<Column>(&text).unwrap(), column);
    }
}
