//! How deep a chain is verified.

use serde::{Deserialize, Serialize};

/// How deep a chain is verified; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Linkage, every rule of headers, proof of work.
    Headers = 0,
    /// Everything that a block says by itself: what the header has roots of, sizes, structure,
    /// signatures where they need no state.
    Bodies = 1,
    /// What blocks do: coins, amounts, scripts; state.
    Execution = 2,
}

impl Level {
    /// All levels, the least deep first.
    pub const ALL: [Self; 3] = [Self::Headers, Self::Bodies, Self::Execution];

    /// The level's name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Bodies => "bodies",
            Self::Execution => "execution",
        }
    }

    /// The level of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level that a store keeps as this number, which is `level as u8`.
    #[must_use]
    pub fn stored(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_by_its_name_and_by_its_number() {
        for level in Level::ALL {
            assert_eq!(Level::named(level.name()), Some(level));
            assert_eq!(Level::stored(level as u8), Some(level));
        }
        assert_eq!(Level::named("all"), None);
        assert_eq!(Level::stored(3), None);
        assert!(Level::ALL.is_sorted());
    }
}
