//! Every optimisation of the reindex, as a named switch.
//!
//! A switch is set once, when the work is laid out. The rungs of the reference's ladder are fixed
//! settings of all switches; the ablation table is made by walking [`SWITCHES`].

use crate::script::Scripts;
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
pub const SWITCHES: [Switch; 9] = [
    Switch {
        name: "first-read",
        values: &["block", "header"],
        what: "read and decode a whole block or only its header before its parent is looked up \
               (Bitcoin Core PR 16981)",
    },
    Switch {
        name: "look-back",
        values: &["0", "8M", "32M", "640M"],
        what: "keep so much of what was read last, so that blocks whose parents come late are not \
               read again; with accept=block scan=serial (Bitcoin Core PR 16981, first version)",
    },
    Switch {
        name: "accept",
        values: &["block", "header"],
        what: "decode each block of pass 1 once its parent is known, as Bitcoin Core does, or \
               leave bodies to pass 2",
    },
    Switch {
        name: "read",
        values: &["stream", "map", "positioned"],
        what: "find records by reading all bytes, in a memory map, or by reads of frame and header",
    },
    Switch {
        name: "scan",
        values: &["serial", "parallel"],
        what: "go over the files one after the other or several at once",
    },
    Switch {
        name: "coins",
        values: &["when-spent", "fetched"],
        what: "look coins on disk up when they are spent, or ahead of that and in parallel",
    },
    Switch {
        name: "scripts",
        values: &["library", "templates"],
        what: "run each script in the library, or reduce standard forms to their signatures",
    },
    Switch {
        name: "signatures",
        values: &["scalar", "lanes"],
        what: "verify signatures one by one or in the lanes of vector registers",
    },
    Switch {
        name: "stages",
        values: &["serial", "overlapped"],
        what: "read, prepare, connect and check one after the other or at the same time",
    },
];

/// The rungs of the ladder: what differs from the slowest value of each switch.
pub const RUNGS: [(&str, &[(&str, &str)]); 8] = [
    ("master", &[]),
    ("16981", &[("first-read", "header")]),
    ("16981-8M", &[("first-read", "header"), ("look-back", "8M")]),
    ("16981-32M", &[("first-read", "header"), ("look-back", "32M")]),
    ("16981-640M", &[("first-read", "header"), ("look-back", "640M")]),
    ("headers", &[("first-read", "header"), ("look-back", "640M"), ("accept", "header")]),
    (
        "frames",
        &[
            ("first-read", "header"),
            ("look-back", "640M"),
            ("accept", "header"),
            ("read", "positioned"),
        ],
    ),
    (
        "blockmill",
        &[
            ("first-read", "header"),
            ("look-back", "640M"),
            ("accept", "header"),
            ("read", "positioned"),
            ("scan", "parallel"),
            ("coins", "fetched"),
            ("scripts", "templates"),
            ("signatures", "lanes"),
            ("stages", "overlapped"),
        ],
    ),
];

/// A setting of all switches: the position of each one's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Variants([u8; SWITCHES.len()]);

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
        Self(SWITCHES.map(|switch| switch.values.len() as u8 - 1))
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
        let (_, changes) = RUNGS.iter().find(|(rung, _)| *rung == name)?;
        let mut variants = Self([0; SWITCHES.len()]);
        for (name, value) in *changes {
            variants.choose(name, value)?;
        }
        Some(variants)
    }

    /// Sets one switch from `name=value`.
    pub fn set(&mut self, assignment: &str) -> Result<(), UnknownVariant> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let known = match SWITCHES.iter().find(|switch| switch.name == name) {
            None => SWITCHES.map(|switch| switch.name).join(", "),
            Some(switch) => format!("{name}={}", switch.values.join("|")),
        };
        let asked = || assignment.to_string();
        self.choose(name, value).ok_or_else(|| UnknownVariant { asked: asked(), known })
    }

    /// This setting with one switch at each of its other values: the rows of the ablation table.
    pub fn neighbours(&self) -> impl Iterator<Item = (&'static Switch, &'static str, Self)> + '_ {
        SWITCHES.iter().enumerate().flat_map(move |(index, switch)| {
            let others = switch.values.iter().enumerate();
            let others = others.filter(move |(value, _)| *value != usize::from(self.0[index]));
            others.map(move |(value, name)| {
                let mut other = *self;
                other.0[index] = value as u8;
                (switch, *name, other)
            })
        })
    }

    /// The value of a switch; `None` if there is no such switch.
    pub fn get(&self, name: &str) -> Option<&'static str> {
        let index = SWITCHES.iter().position(|switch| switch.name == name)?;
        SWITCHES[index].values.get(usize::from(self.0[index])).copied()
    }

    /// Names and values, for the run record.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let value = |(switch, value): (&Switch, &u8)| {
            (switch.name.to_string(), switch.values[usize::from(*value)].to_string())
        };
        SWITCHES.iter().zip(&self.0).map(value).collect()
    }

    /// What pass 1 needs to know, in plain fields.
    pub fn plan(&self) -> Plan {
        let is = |name, value| self.get(name) == Some(value);
        Plan {
            whole_block_first: is("first-read", "block"),
            look_back: match self.get("look-back") {
                Some("8M") => 8 << 20,
                Some("32M") => 32 << 20,
                Some("640M") => 640 << 20,
                _ => 0,
            },
            accept_blocks: is("accept", "block"),
            read: match self.get("read") {
                Some("stream") => Read::Stream,
                Some("map") => Read::Map,
                _ => Read::Positioned,
            },
            parallel: is("scan", "parallel"),
        }
    }

    /// What pass 2 needs to know, in plain fields.
    pub fn connect_plan(&self) -> ConnectPlan {
        let is = |name, value| self.get(name) == Some(value);
        ConnectPlan {
            fetches: is("coins", "fetched"),
            scripts: match is("scripts", "library") {
                true => Scripts::Library,
                false => Scripts::Templates,
            },
            lanes: is("signatures", "lanes"),
            overlapped: is("stages", "overlapped"),
        }
    }

    fn choose(&mut self, name: &str, value: &str) -> Option<()> {
        let index = SWITCHES.iter().position(|switch| switch.name == name)?;
        let position = SWITCHES[index].values.iter().position(|known| *known == value)?;
        self.0[index] = position as u8;
        Some(())
    }
}

/// [`Variants`] as pass 1 reads them.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Each block is read and decoded when it is found, not only its header.
    pub whole_block_first: bool,
    /// Bytes of blocks that are kept for when their parents turn up.
    pub look_back: usize,
    /// Each block is decoded when its parent is known.
    pub accept_blocks: bool,
    /// Where the bytes come from.
    pub read: Read,
    /// Several files at once?
    pub parallel: bool,
}

/// [`Variants`] as pass 2 reads them.
#[derive(Clone, Copy, Debug)]
pub struct ConnectPlan {
    /// Coins on disk are looked up before their turn.
    pub fetches: bool,
    /// Who verifies scripts.
    pub scripts: Scripts,
    /// Signatures are verified in vector lanes.
    pub lanes: bool,
    /// The phases run at the same time.
    pub overlapped: bool,
}

/// How files are read in pass 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Everything, one large piece after the other.
    Stream,
    /// Frames and headers in a memory map.
    Map,
    /// Frames and headers, each by a read at its place.
    Positioned,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_climb_from_the_slowest_to_the_default() {
        let rungs: Vec<_> = RUNGS.iter().map(|(name, _)| Variants::rung(name).unwrap()).collect();
        assert_eq!(rungs[0], Variants([0; SWITCHES.len()]));
        for pair in rungs.windows(2) {
            assert!(pair[0].0.iter().zip(&pair[1].0).all(|(a, b)| a <= b), "{pair:?}");
            assert_ne!(pair[0], pair[1]);
        }
        assert_eq!(rungs.last(), Some(&Variants::default()));
        assert_eq!(Variants::rung("16982"), None);
    }

    #[test]
    fn every_switch_can_be_set_by_name_and_is_recorded() {
        let mut rows = 0;
        for switch in SWITCHES {
            for value in switch.values {
                let mut variants = Variants::default();
                variants.set(&format!("{}={value}", switch.name)).unwrap();
                assert_eq!(variants.to_map()[switch.name], *value);
                assert_eq!(variants.get(switch.name), Some(*value));
            }
            rows += switch.values.len() - 1;
        }
        assert_eq!(Variants::default().neighbours().count(), rows);
        for (switch, value, variants) in Variants::default().neighbours() {
            assert_eq!(variants.get(switch.name), Some(value));
        }
    }

    #[test]
    fn unknown_switches_and_values_name_what_there_is() {
        let mut variants = Variants::default();
        let error = variants.set("speed=high").unwrap_err().to_string();
        assert!(error.contains("first-read, look-back"), "{error}");
        let error = variants.set("look-back=9M").unwrap_err().to_string();
        assert!(error.contains("look-back=0|8M|32M|640M"), "{error}");
    }
}
