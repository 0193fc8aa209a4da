//! Named numbers.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// Counted and measured values by name. A name ends with its unit, if any: `_s`, `_ns`, `_bytes`,
/// `_per_s`; others are counts. All are finite.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Facts(BTreeMap<String, f64>);

/// The whole run on the clock on the wall.
pub const WALL_S: &str = "wall_s";
/// CPU time of the process during the run, outside the kernel.
pub const CPU_USER_S: &str = "cpu_user_s";
/// CPU time of the process during the run, inside the kernel.
pub const CPU_SYS_S: &str = "cpu_sys_s";
/// The most memory that the process held at once; left out when not known.
pub const PEAK_RSS_BYTES: &str = "peak_rss_bytes";
/// Blocks in a second of the whole run.
pub const BLOCKS_PER_S: &str = "blocks_per_s";
/// Million gas in a second of the whole run.
pub const MGAS_PER_S: &str = "mgas_per_s";

impl Facts {
    /// Sets a fact; numbers that are not finite are left out.
    pub fn set(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Sets a count.
    pub fn count(&mut self, name: &str, value: u64) {
        self.set(name, value as f64);
    }

    /// The fact, if it is known.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The fact, or 0.
    pub fn value(&self, name: &str) -> f64 {
        self.get(name).unwrap_or(0.0)
    }

    /// The fact as a count, or 0.
    pub fn count_of(&self, name: &str) -> u64 {
        self.value(name) as u64
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl Serialize for Facts {
    /// Whole numbers without a fraction.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            if value.fract() == 0.0 && value.abs() < 9e15 {
                map.serialize_entry(name, &(*value as i64))?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_as_such_and_all_come_back() {
        let mut facts = Facts::default();
        facts.count("blocks", 1 << 53);
        facts.count("inputs", 200_000);
        facts.set("wall_s", 0.1 + 0.2);
        facts.set("rate", f64::INFINITY);
        let text = serde_json::to_string(&facts).unwrap();
        let expected =
            r#"{"blocks":9007199254740992.0,"inputs":200000,"wall_s":0.30000000000000004}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
        assert_eq!((facts.get("rate"), facts.value("rate")), (None, 0.0));
        assert_eq!(facts.count_of("inputs"), 200_000);
    }
}
