//! Every optimisation of the header import, as a named switch.
//!
//! A switch is set once, when the stages are wired. The rungs of the reference's ladder are fixed
//! settings of all switches; the ablation table is made by walking [`SWITCHES`].

use std::collections::BTreeMap;
use std::fmt;

/// One switch: its name, its values (the fastest last) and what it changes.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Name on the command line: `--with name=value`.
    pub name: &'static str,
    /// Allowed values, the slowest first; the default is the last.
    pub values: &'static [&'static str],
    /// What it changes, and where the idea was published.
    pub what: &'static str,
}

/// The switches, in the order of the ladder.
pub const SWITCHES: [Switch; 10] = [
    Switch {
        name: "write",
        values: &["per-header", "batch"],
        what: "store headers one by one or a chunk at a time (go-ethereum PR 21471)",
    },
    Switch {
        name: "known-check",
        values: &["on", "off"],
        what: "look each header up in the store before it is written (headerimport mod1)",
    },
    Switch {
        name: "linkage-check",
        values: &["twice", "once"],
        what: "check parent hash and number again before writing (headerimport mod2)",
    },
    Switch {
        name: "stop-check",
        values: &["per-header", "per-chunk"],
        what: "ask for a stop request at each header or at each chunk (headerimport mod3)",
    },
    Switch {
        name: "clock",
        values: &["per-header", "per-chunk"],
        what: "read the clock at each header or at each chunk (headerimport mod4)",
    },
    Switch {
        name: "difficulty",
        values: &["bigint", "u256"],
        what: "difficulty in big or in 256-bit integers (headerimport mod5, go-ethereum PR 21976)",
    },
    Switch {
        name: "hash",
        values: &["single", "multi"],
        what: "hash headers one by one or several at once in vector lanes",
    },
    Switch {
        name: "decode",
        values: &["owned", "in-place"],
        what: "copy header fields into owned values or read them where they stand",
    },
    Switch {
        name: "storage",
        values: &["tree", "segment"],
        what: "store headers in a key-value tree or in append-only segments",
    },
    Switch {
        name: "stages",
        values: &["serial", "overlapped"],
        what: "read, verify and write one after the other or at the same time",
    },
];

/// The rungs of the ladder: each has the values of [`SWITCHES`] up to here at their fastest.
pub const RUNGS: [(&str, usize); 8] = [
    ("master", 0),
    ("21471", 1),
    ("mod1", 2),
    ("mod2", 3),
    ("mod3", 4),
    ("mod4", 5),
    ("mod5", 6),
    ("blockmill", SWITCHES.len()),
];

/// A setting of all switches: true is the fast value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Variants([bool; SWITCHES.len()]);

/// A `--with` that names no switch or no value of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariant {
    /// What was asked for.
    pub asked: String,
    /// What there is.
    pub known: String,
}

impl fmt::Display for UnknownVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown variant '{}'; there is: {}", self.asked, self.known)
    }
}

impl std::error::Error for UnknownVariant {}

impl Default for Variants {
    fn default() -> Self {
        Self([true; SWITCHES.len()])
    }
}

impl fmt::Debug for Variants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.to_map()).finish()
    }
}

impl Variants {
    /// The setting of a named rung of the ladder.
    pub fn rung(name: &str) -> Option<Self> {
        let (_, fast) = RUNGS.iter().find(|(rung, _)| *rung == name)?;
        Some(Self(std::array::from_fn(|i| i < *fast)))
    }

    /// Sets one switch from `name=value`.
    pub fn set(&mut self, assignment: &str) -> Result<(), UnknownVariant> {
        let unknown = |known: String| UnknownVariant { asked: assignment.to_string(), known };
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let Some(index) = SWITCHES.iter().position(|s| s.name == name) else {
            let names: Vec<_> = SWITCHES.iter().map(|s| s.name).collect();
            return Err(unknown(names.join(", ")));
        };
        let values = SWITCHES[index].values;
        match values.iter().position(|v| *v == value) {
            Some(position) => self.0[index] = position == 1,
            None => return Err(unknown(format!("{name}={}", values.join("|")))),
        }
        Ok(())
    }

    /// This setting with the switch `name` at its slow value; `None` if there is no such switch.
    pub fn without(mut self, name: &str) -> Option<Self> {
        let index = SWITCHES.iter().position(|s| s.name == name)?;
        self.0[index] = false;
        Some(self)
    }

    /// Names and values, for the run record.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let value = |(switch, fast): (&Switch, &bool)| {
            (switch.name.to_string(), switch.values[usize::from(*fast)].to_string())
        };
        SWITCHES.iter().zip(&self.0).map(value).collect()
    }

    fn is_fast(&self, name: &str) -> bool {
        SWITCHES.iter().zip(&self.0).any(|(switch, fast)| switch.name == name && *fast)
    }

    /// What the stages need to know, in plain fields.
    pub fn plan(&self) -> Plan {
        Plan {
            batch_write: self.is_fast("write"),
            known_check: !self.is_fast("known-check"),
            linkage_twice: !self.is_fast("linkage-check"),
            stop_check_per_header: !self.is_fast("stop-check"),
            clock_per_header: !self.is_fast("clock"),
            bigint_difficulty: !self.is_fast("difficulty"),
            multi_hash: self.is_fast("hash"),
            decode_in_place: self.is_fast("decode"),
            segment_storage: self.is_fast("storage"),
            overlapped: self.is_fast("stages"),
        }
    }
}

/// [`Variants`] as the stages read them.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub batch_write: bool,
    pub known_check: bool,
    pub linkage_twice: bool,
    pub stop_check_per_header: bool,
    pub clock_per_header: bool,
    pub bigint_difficulty: bool,
    pub multi_hash: bool,
    pub decode_in_place: bool,
    pub segment_storage: bool,
    pub overlapped: bool,
}

impl Plan {
    /// Whether the writing stage has something to do at each header.
    pub fn works_per_header(&self) -> bool {
        let checks = self.known_check || self.linkage_twice || self.stop_check_per_header;
        checks || self.clock_per_header || !self.batch_write
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_climb_one_switch_at_a_time_to_the_default() {
        let mut before = 0;
        for (name, fast) in RUNGS {
            let rung = Variants::rung(name).unwrap();
            assert_eq!(rung.0.iter().filter(|f| **f).count(), fast);
            assert!(name == "master" || fast > before);
            before = fast;
        }
        assert_eq!(Variants::rung("blockmill"), Some(Variants::default()));
        assert_eq!(Variants::rung("mod6"), None);
    }

    #[test]
    fn every_switch_can_be_set_by_name_and_is_recorded() {
        for switch in SWITCHES {
            for value in switch.values {
                let mut variants = Variants::default();
                variants.set(&format!("{}={value}", switch.name)).unwrap();
                assert_eq!(variants.to_map()[switch.name], *value);
            }
            assert_ne!(Variants::default().without(switch.name), Some(Variants::default()));
        }
    }

    #[test]
    fn unknown_switches_and_values_name_what_there_is() {
        let mut variants = Variants::default();
        assert!(variants.set("speed=high").unwrap_err().to_string().contains("write, known-check"));
        let error = variants.set("write=never").unwrap_err().to_string();
        assert!(error.contains("write=per-header|batch"), "{error}");
    }
}
