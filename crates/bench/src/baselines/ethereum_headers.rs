//! What importers of Ethereum headers did before, as the steps of the ladder of `bench headers`.
//!
//! Three sources are imitated. go-ethereum wrote headers one by one until its pull request 21471
//! (2020) wrote a batch at a time. headerimport (Martin Holst Swende) took go-ethereum's header
//! import apart in five steps, `mod1` to `mod5`. And go-ethereum keeps headers in a key-value
//! store, with keys that have not changed since 2015.

mod big_integers;
mod checks;
mod header_table;
mod store;

use crate::baselines::BaselineOption;
use anyhow::{Result, bail};
use blockmill_ethereum::commit::{BlockSink, Sink};
use blockmill_ethereum::import::{ChainRules, HeaderChecks};
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use std::path::Path;

/// Work that an earlier design did, and that a run does again: an index of [`OPTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waste {
    /// Each header is a write of its own.
    WriteEach,
    /// Each header is looked up before it is written.
    LookUpKnown,
    /// Parent hash and number are checked again before the write.
    LinkTwice,
    /// Each header asks whether to stop.
    AskToStop,
    /// Each header reads the clock.
    ReadClock,
    /// Difficulties are big integers.
    BigIntegers,
    /// Fields are copied out of the encoding.
    OwnHeaders,
    /// Headers are in a table of keys and values.
    KeyValueTable,
}

/// The options, in the order of the ladder: the wasteful value, then the product's.
pub const OPTIONS: [BaselineOption; 8] = [
    BaselineOption {
        name: "write",
        values: &["per-header", "batch"],
        about: "go-ethereum before PR 21471: each header is a write of its own, not a chunk",
        said: &["Writes each header alone", "Writes the headers of a chunk together"],
    },
    BaselineOption {
        name: "known-check",
        values: &["on", "off"],
        about: "go-ethereum before headerimport mod1: a look-up of each header before its write",
        said: &["Looks up each header before its write", "Looks up no header"],
    },
    BaselineOption {
        name: "linkage-check",
        values: &["twice", "once"],
        about: "before headerimport mod2: parent hash and number are checked again before a write",
        said: &[
            "Checks parent hash and number again before the write",
            "Checks parent hash and number once",
        ],
    },
    BaselineOption {
        name: "stop-check",
        values: &["per-header", "per-chunk"],
        about: "before headerimport mod3: each header, not each chunk, asks whether to stop",
        said: &["Asks at each header whether to stop", "Asks at each chunk whether to stop"],
    },
    BaselineOption {
        name: "clock",
        values: &["per-header", "per-chunk"],
        about: "before headerimport mod4: each header, not each chunk, reads the clock",
        said: &["Reads the clock at each header", "Reads the clock at each chunk"],
    },
    BaselineOption {
        name: "difficulty",
        values: &["bigint", "u256"],
        about: "before headerimport mod5 and go-ethereum PR 21976: difficulties in big integers",
        said: &["Computes difficulties in big integers", "Computes difficulties in 256 bits"],
    },
    BaselineOption {
        name: "decode",
        values: &["owned", "in-place"],
        about: "decoders of most clients: fields are copied out of the encoding of a header",
        said: &[
            "Copies the fields of a header out of its encoding",
            "Reads the fields where they are in the encoding",
        ],
    },
    BaselineOption {
        name: "storage",
        values: &["table", "segment"],
        about: "go-ethereum's schema since 2015: a table with keys for header, total difficulty, \
                hash and number, not append-only segments",
        said: &[
            "Stores headers in a table with keys, as go-ethereum does",
            "Appends headers to segments",
        ],
    },
];

/// What a run wastes; the default is nothing, which is how the product imports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// In the order of [`OPTIONS`].
    wastes: [bool; OPTIONS.len()],
}

impl Baseline {
    /// The baseline that `with` describes, and the assignments of `with` that are of no baseline.
    ///
    /// # Errors
    /// An option of a baseline has no such value.
    pub fn split(with: &[String]) -> Result<(Self, Vec<String>)> {
        let (mut baseline, mut rest) = (Self::default(), vec![]);
        for assignment in with {
            let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            let mut options = OPTIONS.iter().zip(&mut baseline.wastes);
            let Some((option, wastes)) = options.find(|(own, _)| own.name == name) else {
                rest.push(assignment.clone());
                continue;
            };
            let Some(at) = option.values.iter().position(|known| *known == value) else {
                let available = option.values.join("|");
                bail!("unknown option '{assignment}'; available: {name}={available}");
            };
            *wastes = at == 0;
        }
        Ok((baseline, rest))
    }

    /// Is this wasted?
    pub fn has(&self, waste: Waste) -> bool {
        self.wastes[waste as usize]
    }

    /// Is any of these wasted?
    fn has_any(&self, wastes: &[Waste]) -> bool {
        wastes.iter().any(|waste| self.has(*waste))
    }

    /// The checks of headers.
    pub fn checks(self, cancel: &Cancel) -> Box<dyn HeaderChecks> {
        match checks::Earlier::is_described_by(&self) {
            true => Box::new(checks::Earlier::new(self, cancel.clone())),
            false => Box::new(ChainRules),
        }
    }

    /// The store of headers, in the empty folder `dir`.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn sink(self, dir: &Path, cancel: &Cancel) -> Result<Box<dyn BlockSink>> {
        Ok(match store::Earlier::is_described_by(&self) {
            true => Box::new(store::Earlier::open(dir, self, cancel.clone())?),
            false => {
                let (store, _) = ChainStore::open(dir, &blockmill_store::Options::default())?;
                Box::new(Sink::Segments(Box::new(store)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;

    #[test]
    fn each_step_of_the_ladder_wastes_one_thing_less() {
        let all = Definition::all(Path::new("no such folder")).unwrap();
        let headers = all.iter().find(|definition| definition.name == "headers").unwrap();
        let slow = |option: &BaselineOption| format!("{}={}", option.name, option.values[0]);
        let mut with: Vec<String> = OPTIONS.iter().map(slow).collect();
        for (at, step) in headers.ladder.iter().enumerate() {
            with.extend(step.with.iter().cloned());
            let (baseline, rest) = Baseline::split(&with).unwrap();
            assert!(rest.is_empty(), "{}: {rest:?}", step.name);
            let expected: Vec<bool> = (0..OPTIONS.len()).map(|waste| waste >= at).collect();
            assert_eq!(baseline.wastes[..], expected, "{}", step.name);
        }
        assert_eq!(headers.ladder.len(), 7);
    }

    #[test]
    fn an_option_wastes_what_its_name_says() {
        let with = |assignment: &str| Baseline::split(&[assignment.to_owned()]).unwrap().0;
        for (assignment, waste) in [
            ("write=per-header", Waste::WriteEach),
            ("known-check=on", Waste::LookUpKnown),
            ("linkage-check=twice", Waste::LinkTwice),
            ("stop-check=per-header", Waste::AskToStop),
            ("clock=per-header", Waste::ReadClock),
            ("difficulty=bigint", Waste::BigIntegers),
            ("decode=owned", Waste::OwnHeaders),
            ("storage=table", Waste::KeyValueTable),
        ] {
            let baseline = with(assignment);
            assert!(baseline.has(waste), "{assignment}");
            assert_eq!(baseline.wastes.iter().filter(|wastes| **wastes).count(), 1);
        }
        assert_eq!(with("write=batch"), Baseline::default());
    }

    #[test]
    fn options_of_the_product_are_left_and_unknown_values_refused() {
        let with = ["hash=single", "clock=per-header", "stages=serial"].map(str::to_owned);
        let (baseline, rest) = Baseline::split(&with).unwrap();
        assert_eq!(rest, ["hash=single", "stages=serial"]);
        assert!(baseline.has(Waste::ReadClock));
        let refused = Baseline::split(&["storage=tape".to_owned()]).unwrap_err().to_string();
        assert_eq!(refused, "unknown option 'storage=tape'; available: storage=table|segment");
    }
}
