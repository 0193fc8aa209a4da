//! A block that is not accepted: which one, where it is, and why.

use crate::{FaultReport, Location, Shortfall, Status};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A block that is not accepted. Everything before it has been verified.
#[derive(Debug)]
pub struct Fault<C: Cause> {
    /// Its number or height, as far as it is known.
    pub block: u64,
    /// Its hash, if its header could be read.
    pub hash: Option<C::Hash>,
    /// Where the faulty part is.
    pub location: Option<Location>,
    /// What is wrong.
    pub cause: C,
}

/// Why a block is not accepted: an enum of each chain. Its text ends the message of a [`Fault`].
pub trait Cause: fmt::Debug + fmt::Display {
    /// The hash of a block.
    type Hash: fmt::Debug;

    /// A hash in the notation of the chain.
    fn hash_text(hash: &Self::Hash) -> String;

    /// What the cause says of the chain and of the archive.
    fn status(&self) -> Status;

    /// The rule that is broken, if the cause is one.
    fn broken_rule(&self) -> BrokenRule {
        BrokenRule::default()
    }

    /// The location that the cause knows.
    fn location(&self) -> Option<&Location> {
        None
    }

    /// Does the cause's text name the location?
    fn names_location(&self) -> bool {
        false
    }

    /// What the archive lacks at `block`, if that is the cause.
    fn shortfall(&self, _block: u64, _location: Option<&Location>) -> Option<Shortfall> {
        None
    }
}

/// A rule, what it asks for and what the block has, in text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule, as its chain names it.
    pub rule: Option<String>,
    /// What the rule asks for.
    pub expected: Option<String>,
    /// What is there.
    pub found: Option<String>,
}

impl<C: Cause> Fault<C> {
    /// What the fault says of the chain and of the archive.
    #[must_use]
    pub fn status(&self) -> Status {
        self.cause.status()
    }

    /// Where the faulty part is, by the fault or by its cause.
    pub fn known_location(&self) -> Option<&Location> {
        self.location.as_ref().or(self.cause.location())
    }

    /// What the archive lacks, if that is the fault.
    pub fn shortfall(&self) -> Option<Shortfall> {
        self.cause.shortfall(self.block, self.location.as_ref())
    }

    /// Its parts.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        let location = self.known_location();
        let BrokenRule { rule, expected, found } = self.cause.broken_rule();
        FaultReport {
            message: self.to_string(),
            block: Some(self.block),
            hash: self.hash.as_ref().map(C::hash_text),
            file: location.map(|location| location.file.clone()),
            offset: location.map(|location| location.offset),
            rule,
            expected,
            found,
            hint: None,
        }
    }
}

impl<C: Cause> fmt::Display for Fault<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.block)?;
        if let Some(hash) = &self.hash {
            write!(f, " ({})", C::hash_text(hash))?;
        }
        if let (Some(location), false) = (&self.location, self.cause.names_location()) {
            write!(f, ", {location}")?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl<C: Cause> std::error::Error for Fault<C> {}

/// A fault reported by another process, in text: what the document of a shard carries. `D` is what
/// the chain adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFault<D> {
    /// What the fault says of the chain and of the archive.
    pub status: Status,
    /// What the chain adds.
    #[serde(flatten)]
    pub details: D,
    /// What is wrong, in a sentence.
    pub text: String,
    /// The rule that is broken, as its chain names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the rule asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

impl<D> RemoteFault<D> {
    /// A fault of this status and text.
    pub fn new(status: Status, text: String, broken: BrokenRule, details: D) -> Self {
        let BrokenRule { rule, expected, found } = broken;
        Self { status, details, text, rule, expected, found }
    }

    /// The rule that is broken, if the fault is one.
    #[must_use]
    pub fn broken_rule(&self) -> BrokenRule {
        let Self { rule, expected, found, .. } = self;
        let [rule, expected, found] = [rule, expected, found].map(Option::clone);
        BrokenRule { rule, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cause of which the location is known or not.
    #[derive(Debug)]
    struct Toy(Option<Location>);

    impl fmt::Display for Toy {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("size: expected 1, found 2")
        }
    }

    impl Cause for Toy {
        type Hash = u8;

        fn hash_text(hash: &u8) -> String {
            format!("{hash:02x}")
        }

        fn status(&self) -> Status {
            Status::Invalid
        }

        fn broken_rule(&self) -> BrokenRule {
            let [rule, expected, found] = ["size", "1", "2"].map(|text| Some(text.to_owned()));
            BrokenRule { rule, expected, found }
        }

        fn location(&self) -> Option<&Location> {
            self.0.as_ref()
        }

        fn names_location(&self) -> bool {
            self.0.is_some()
        }
    }

    #[test]
    fn a_fault_names_block_hash_location_and_cause() {
        let location = || Some(Location::new("f", 9));
        let fault = |hash, location, own| Fault { block: 7, hash, location, cause: Toy(own) };
        let cause = "size: expected 1, found 2";
        let text = |fault: Fault<Toy>| fault.to_string();
        assert_eq!(text(fault(None, None, None)), format!("block 7: {cause}"));
        let all = fault(Some(0xab), location(), None);
        assert_eq!(all.to_string(), format!("block 7 (ab), f at byte 9: {cause}"));
        // a location that the cause names is not repeated
        let own = fault(None, location(), location());
        assert_eq!(own.to_string(), format!("block 7: {cause}"));
        for fault in [all, own, fault(None, None, location())] {
            let report = fault.report();
            assert_eq!((report.file, report.offset), (Some("f".into()), Some(9)));
            assert_eq!((report.block, report.rule), (Some(7), Some("size".into())));
        }
    }

    #[test]
    fn a_remote_fault_has_the_same_fields_in_a_document() {
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        struct Details {
            is_damage: bool,
        }
        let broken = Toy(None).broken_rule();
        let details = Details { is_damage: true };
        let fault = RemoteFault::new(Status::Invalid, "bad".into(), broken.clone(), details);
        let text = "{'status':'invalid','is_damage':true,'text':'bad','rule':'size',\
                    'expected':'1','found':'2'}";
        let text = text.replace('\'', "\"");
        assert_eq!(serde_json::to_string(&fault).unwrap(), text);
        let read: RemoteFault<Details> = serde_json::from_str(&text).unwrap();
        assert_eq!((read.broken_rule(), &read), (broken, &fault));
        let lacking = text.replace(r#""is_damage":true,"#, "");
        assert!(serde_json::from_str::<RemoteFault<Details>>(&lacking).is_err());
    }
}
