//! How a command ended, in one word.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// How a command ended. Each has a word of its own; those of success share the exit code 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// Everything that was given is there, is whole and obeys every rule of the level asked for.
    Verified,
    /// A command that verifies nothing did what it was asked for and met nothing wrong.
    #[default]
    Ok,
    /// Something is missing, and the user said beforehand that it may be.
    Partial,
    /// A block breaks a rule of its chain.
    Invalid,
    /// What was asked for cannot be meant so: the command line, the config file, the choice of
    /// files or of a store.
    Usage,
    /// What is there is good, but blocks are missing, unconnected or cut.
    Incomplete,
    /// Bytes of an archive or of a store are not what was written there.
    Corrupt,
    /// This machine is in the way: disk full, permission, memory, a device that fails.
    Environment,
    /// There is nothing that this program knows how to read.
    Unrecognised,
    /// The user asked to stop.
    Interrupted,
}

impl Status {
    /// Every status, in the order of their exit codes.
    pub const ALL: [Self; 10] = [
        Self::Verified,
        Self::Ok,
        Self::Partial,
        Self::Invalid,
        Self::Usage,
        Self::Incomplete,
        Self::Corrupt,
        Self::Environment,
        Self::Unrecognised,
        Self::Interrupted,
    ];

    /// The word of `--json` and of run records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Invalid => "invalid",
            Self::Usage => "usage",
            Self::Incomplete => "incomplete",
            Self::Corrupt => "corrupt",
            Self::Environment => "environment",
            Self::Unrecognised => "unrecognised",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit code of the process. 2 is what command lines give that cannot be understood, 130
    /// what shells give a program that Ctrl-C ended.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Verified | Self::Ok | Self::Partial => 0,
            Self::Invalid => 1,
            Self::Usage => 2,
            Self::Incomplete => 3,
            Self::Corrupt => 4,
            Self::Environment => 5,
            Self::Unrecognised => 6,
            Self::Interrupted => 130,
        }
    }

    /// What an answer of the system means: a path that is not there was named wrongly, a file that
    /// ends early is corrupt, anything else is an error of this machine.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => Self::Usage,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Self::Corrupt,
            _ => Self::Environment,
        }
    }

    /// Did the command do what it was asked for?
    #[must_use]
    pub fn is_success(self) -> bool {
        self.exit_code() == 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_status_has_a_word_and_those_of_failure_an_exit_code_of_their_own() {
        let names: HashSet<_> = Status::ALL.iter().map(|status| status.name()).collect();
        assert_eq!(names.len(), Status::ALL.len());
        let failures = Status::ALL.iter().filter(|status| !status.is_success());
        let codes: HashSet<_> = failures.clone().map(|status| status.exit_code()).collect();
        assert_eq!(codes.len(), failures.count());
    }

    #[test]
    fn the_word_is_that_of_json() {
        for status in Status::ALL {
            let json = serde_json::to_value(status).unwrap();
            assert_eq!(json, status.name());
            assert_eq!(serde_json::from_value::<Status>(json).unwrap(), status);
        }
    }
}
