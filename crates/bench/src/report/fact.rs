//! Facts of a record by their names: the unit, the words for people, and which of two is better.

use crate::comparison::CPU_S;
use crate::statistics::Growth;
use blockmill_pipeline::record::MGAS_PER_S;
use blockmill_report::format;

/// What a fact counts, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Nanoseconds,
    Bytes,
    PerSecond,
    Count,
}

impl Unit {
    /// The unit of the fact `name`.
    pub fn of(name: &str) -> Self {
        let endings = [
            ("_per_s", Self::PerSecond),
            ("_s", Self::Seconds),
            ("_ns", Self::Nanoseconds),
            ("_bytes", Self::Bytes),
        ];
        let found = endings.into_iter().find(|(ending, _)| name.ends_with(ending));
        found.map_or(Self::Count, |(_, unit)| unit)
    }

    /// How its name ends, without the line before it.
    fn ending(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::PerSecond => "per_s",
            Self::Count => "",
        }
    }

    /// The unit after a number.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Bytes => "B",
            Self::PerSecond => "/s",
            other => other.ending(),
        }
    }

    /// A value in the unit, as people read it.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format::duration(value),
            Self::Nanoseconds => format::nanoseconds(value),
            Self::Bytes => format::bytes(value.max(0.0) as u64),
            Self::PerSecond => format!("{}/s", format::rate(value)),
            Self::Count => format::average(value),
        }
    }

    /// The factor and the sign of the unit in which a value is a short number: milliseconds for
    /// 0.25 s.
    pub fn scaled(self, value: f64) -> (f64, &'static str) {
        let units: &[(f64, &str)] = match self {
            Self::Seconds => &[(1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
            Self::Nanoseconds => &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")],
            Self::Bytes => &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
            Self::PerSecond | Self::Count => return (1.0, self.sign()),
        };
        let fits = units.iter().rev().find(|(size, _)| value >= *size);
        let (size, sign) = fits.or(units.first()).copied().unwrap_or((1.0, ""));
        (1.0 / size, sign)
    }

    /// Is more of it better?
    pub fn more_is_better(self) -> bool {
        self == Self::PerSecond
    }
}

/// Is the fact `name` a matter of speed? Otherwise it is one of amount, as CPU time is.
pub(crate) fn is_speed(name: &str) -> bool {
    let unit = Unit::of(name);
    name != CPU_S && [Unit::Seconds, Unit::Nanoseconds, Unit::PerSecond].contains(&unit)
}

/// What people call the fact `name`.
pub(crate) fn words(name: &str) -> String {
    match name {
        "wall_s" => return "whole run".to_owned(),
        CPU_S => return "CPU time".to_owned(),
        "peak_rss_bytes" => return "peak memory".to_owned(),
        "time_ns" => return "one operation".to_owned(),
        MGAS_PER_S => return "Mgas a second".to_owned(),
        _ => {}
    }
    let (step, fact) = name.rsplit_once('.').map_or(("", name), |(step, fact)| (step, fact));
    let unit = Unit::of(fact);
    let bare = fact.strip_suffix(unit.ending()).unwrap_or(fact).trim_end_matches('_');
    let bare = match unit {
        Unit::PerSecond => format!("{bare} a second"),
        // the time of a step is what is meant by its name
        Unit::Nanoseconds if !step.is_empty() && bare == "time" => String::new(),
        _ => bare.to_owned(),
    };
    let words = [step, &bare].join(" ").replace('_', " ");
    words.trim().to_owned()
}

/// An exponent with its error: `0.98 ± 0.02`.
pub(crate) fn exponent(growth: &Growth) -> String {
    match growth.error > 0.0 {
        true => format!("{:.2} ± {:.2}", growth.exponent, growth.error),
        false => format!("{:.2}", growth.exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_units_and_words() {
        let shown = |name: &str, value| format!("{}: {}", words(name), Unit::of(name).show(value));
        assert_eq!(shown("wall_s", 2.5), "whole run: 2.50 s");
        assert_eq!(shown("connect_s", 0.25), "connect: 250 ms");
        assert_eq!(shown("get.time_ns", 12.34), "get: 12.3 ns");
        assert_eq!(shown("update.disk_bytes", 1e6), "update disk: 1.00 MB");
        assert_eq!(shown("signatures_per_s", 1e6), "signatures a second: 1,000,000/s");
        assert_eq!(shown("allocations", 3.0), "allocations: 3");
        assert_eq!(shown("out_of_order", 3.0), "out of order: 3");
        assert_eq!(Unit::of("blocks_per_s"), Unit::PerSecond, "not seconds");
    }

    #[test]
    fn a_scaled_value_is_a_short_number() {
        let scaled = |name: &str, value: f64| {
            let (factor, sign) = Unit::of(name).scaled(value);
            format!("{:.1} {sign}", value * factor)
        };
        assert_eq!(scaled("wall_s", 0.25), "250.0 ms");
        assert_eq!(scaled("wall_s", 1e-9), "0.0 µs");
        assert_eq!(scaled("time_ns", 1500.0), "1.5 µs");
        assert_eq!(scaled("peak_rss_bytes", 2.5e8), "250.0 MB");
        assert_eq!(scaled("mgas_per_s", 1500.0), "1500.0 /s");
    }
}
