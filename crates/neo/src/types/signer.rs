//! Signers of transactions and their scopes (`transaction/signer.go`).

use super::condition::{self, MAX_ITEMS, Points, PublicKey, Rules};
use super::{Error, Reader, UInt160};
use blockmill_verdict::Span;
use std::fmt;

/// The contracts that a witness is valid for: a set of flags (`transaction/witness_scope.go`).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Scopes(pub u8);

impl Scopes {
    /// No contract: the signer only pays.
    pub const NONE: Self = Self(0);
    /// The entry script, and contracts that it calls directly.
    pub const CALLED_BY_ENTRY: Self = Self(0x01);
    /// The listed contracts.
    pub const CUSTOM_CONTRACTS: Self = Self(0x10);
    /// Contracts of the listed groups.
    pub const CUSTOM_GROUPS: Self = Self(0x20);
    /// Calls that the first applicable rule allows.
    pub const WITNESS_RULES: Self = Self(0x40);
    /// All contracts; excludes other flags.
    pub const GLOBAL: Self = Self(0x80);

    const NAMES: [(Self, &'static str); 5] = [
        (Self::CALLED_BY_ENTRY, "CalledByEntry"),
        (Self::CUSTOM_CONTRACTS, "CustomContracts"),
        (Self::CUSTOM_GROUPS, "CustomGroups"),
        (Self::WITNESS_RULES, "WitnessRules"),
        (Self::GLOBAL, "Global"),
    ];

    /// Reports whether it has all flags of `other`.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn is_valid(self) -> bool {
        let known = Self::NAMES.iter().fold(0, |all, (scope, _)| all | scope.0);
        self.0 & !known == 0 && (self == Self::GLOBAL || !self.has(Self::GLOBAL))
    }
}

/// The names of neo-go and of JSON: `CalledByEntry, CustomContracts`.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.write_str("None");
        }
        let mut names = Self::NAMES.iter().filter(|(scope, _)| self.has(*scope));
        if let Some((_, first)) = names.next() {
            f.write_str(first)?;
        }
        names.try_for_each(|(_, name)| write!(f, ", {name}"))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A parsed signer: its fields and spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignerParts {
    /// The account.
    pub account: UInt160,
    /// Its scopes.
    pub scopes: Scopes,
    /// Hashes of contracts, 20 bytes each.
    contracts: Span,
    /// Keys of groups, 33 bytes each.
    groups: Span,
    /// The rules.
    rules: Span,
    rule_count: u8,
}

impl SignerParts {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let account = UInt160(*reader.array()?);
        let at = reader.position();
        let scopes = Scopes(reader.byte()?);
        if !scopes.is_valid() {
            let expected = "known scopes, and Global alone";
            return Err(Error::Field { at, what: "scopes", expected, found: scopes.0.into() });
        }
        let mut parts = Self { account, scopes, ..Self::default() };
        if scopes.has(Scopes::CUSTOM_CONTRACTS) {
            let count = reader.count("allowed contracts", MAX_ITEMS)?;
            parts.contracts = reader.skip(count * UInt160::BYTES)?;
        }
        if scopes.has(Scopes::CUSTOM_GROUPS) {
            let count = reader.count("allowed groups", MAX_ITEMS)?;
            let start = reader.position();
            for _ in 0..count {
                condition::public_key(reader, Points::Unknown)?;
            }
            parts.groups = Span { start, end: reader.position() };
        }
        if scopes.has(Scopes::WITNESS_RULES) {
            let count = reader.count("witness rules", MAX_ITEMS)?;
            let start = reader.position();
            for _ in 0..count {
                condition::rule(reader, Points::Unknown)?;
            }
            parts.rules = Span { start, end: reader.position() };
            parts.rule_count = count as u8;
        }
        Ok(parts)
    }
}

/// A signer of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Signer<'a> {
    pub(super) raw: &'a [u8],
    pub(super) parts: &'a SignerParts,
}

impl<'a> Signer<'a> {
    /// The account.
    #[must_use]
    pub fn account(self) -> UInt160 {
        self.parts.account
    }

    /// Its scopes.
    #[must_use]
    pub fn scopes(self) -> Scopes {
        self.parts.scopes
    }

    /// The contracts of [`Scopes::CUSTOM_CONTRACTS`].
    pub fn contracts(self) -> impl ExactSizeIterator<Item = UInt160> + use<'a> {
        let (hashes, _) = self.parts.contracts.slice(self.raw).as_chunks();
        hashes.iter().copied().map(UInt160)
    }

    /// The keys of [`Scopes::CUSTOM_GROUPS`].
    #[must_use]
    pub fn groups(self) -> &'a [PublicKey] {
        self.parts.groups.slice(self.raw).as_chunks().0
    }

    /// The rules of [`Scopes::WITNESS_RULES`].
    #[must_use]
    pub fn rules(self) -> Rules<'a> {
        Rules::new(self.raw, self.parts.rules, self.parts.rule_count.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_have_the_names_of_json() {
        assert_eq!(Scopes::NONE.to_string(), "None");
        assert_eq!(Scopes(0x11).to_string(), "CalledByEntry, CustomContracts");
        assert_eq!(Scopes::GLOBAL.to_string(), "Global");
        assert!(Scopes(0x71).is_valid());
        for bad in [0x02, 0x04, 0x08, 0x81, 0xc0] {
            assert!(!Scopes(bad).is_valid(), "{bad:#x}");
        }
    }
}
