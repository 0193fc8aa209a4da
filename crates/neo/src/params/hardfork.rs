//! Hardforks and their heights (`config/hardfork.go`).

use std::fmt;

/// A hardfork. Variants are in order, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hardfork {
    /// neo#2712, neo#2749.
    Aspidochelone,
    /// neo#2881, neo#2883, neo#2810.
    Basilisk,
    /// neo#2942, neo#2925, neo#3154.
    Cockatrice,
    /// neo#3290.
    Domovoi,
    /// neo#3454, neo#3548, neo#3696, neo#3895, neo#3175.
    Echidna,
    /// neo#4147, neo#4150, neo#4278, neo#4201, neo#4328.
    Faun,
    /// neo#4516, neo-vm#543, neo#4539, neo#4449.
    Gorgon,
    /// neo#4571. Not stable yet.
    Huyao,
}

impl Hardfork {
    /// All of them, the oldest first.
    pub const ALL: [Self; 8] = [
        Self::Aspidochelone,
        Self::Basilisk,
        Self::Cockatrice,
        Self::Domovoi,
        Self::Echidna,
        Self::Faun,
        Self::Gorgon,
        Self::Huyao,
    ];
    /// The newest hardfork that is active if a configuration names none.
    pub const LATEST_STABLE: Self = Self::Gorgon;

    /// Its name in configurations.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aspidochelone => "Aspidochelone",
            Self::Basilisk => "Basilisk",
            Self::Cockatrice => "Cockatrice",
            Self::Domovoi => "Domovoi",
            Self::Echidna => "Echidna",
            Self::Faun => "Faun",
            Self::Gorgon => "Gorgon",
            Self::Huyao => "Huyao",
        }
    }

    /// The hardfork of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hardfork| hardfork.name() == name)
    }
}

impl fmt::Display for Hardfork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The height at which each hardfork begins; `None` if it never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hardforks([Option<u32>; Hardfork::ALL.len()]);

impl Hardforks {
    /// All stable hardforks from the genesis block on.
    #[must_use]
    pub fn all_stable() -> Self {
        let mut hardforks = Self::default();
        for hardfork in Hardfork::ALL.into_iter().filter(|each| *each <= Hardfork::LATEST_STABLE) {
            hardforks.set(hardfork, 0);
        }
        hardforks
    }

    /// Sets the height of a hardfork.
    pub fn set(&mut self, hardfork: Hardfork, height: u32) {
        self.0[hardfork as usize] = Some(height);
    }

    /// The height of a hardfork.
    #[must_use]
    pub fn height(&self, hardfork: Hardfork) -> Option<u32> {
        self.0[hardfork as usize]
    }

    /// Reports whether a hardfork is active at this height.
    #[must_use]
    pub fn holds(&self, hardfork: Hardfork, height: u32) -> bool {
        self.height(hardfork).is_some_and(|from| from <= height)
    }

    /// The newest active hardfork at this height; `None` before the first one.
    #[must_use]
    pub fn latest(&self, height: u32) -> Option<Hardfork> {
        Hardfork::ALL.into_iter().rev().find(|hardfork| self.holds(*hardfork, height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hardfork_holds_from_its_height_on() {
        let mut hardforks = Hardforks::default();
        assert_eq!(hardforks.latest(u32::MAX), None);
        hardforks.set(Hardfork::Basilisk, 7);
        assert!(!hardforks.holds(Hardfork::Basilisk, 6));
        assert!(hardforks.holds(Hardfork::Basilisk, 7));
        assert_eq!(hardforks.latest(7), Some(Hardfork::Basilisk));
        assert_eq!(Hardforks::all_stable().latest(0), Some(Hardfork::Gorgon));
        assert!(Hardfork::ALL.is_sorted());
        for hardfork in Hardfork::ALL {
            assert_eq!(Hardfork::named(hardfork.name()), Some(hardfork));
        }
    }
}
