//! How long code may be: numbers of EIP-170, EIP-3860 and EIP-7954, unless a chain has its own.

use super::Fork;
use std::fmt;

/// Most bytes of a contract's code from Spurious Dragon on (EIP-170).
const CODE: usize = 24_576;
/// Most bytes of creation code from Shanghai on (EIP-3860).
const INITCODE: usize = 49_152;
/// Most bytes of a contract's code from Amsterdam on (EIP-7954).
const CODE_AMSTERDAM: usize = 65_536;
/// Most bytes of creation code from Amsterdam on (EIP-7954).
const INITCODE_AMSTERDAM: usize = 131_072;

/// The limits of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLimits {
    /// Most bytes of a contract's code, from Spurious Dragon on.
    pub code: usize,
    /// Most bytes of creation code, from Shanghai on.
    pub initcode: usize,
}

impl Default for CodeLimits {
    /// The limits of the EIPs before Amsterdam.
    fn default() -> Self {
        Self { code: CODE, initcode: INITCODE }
    }
}

impl CodeLimits {
    /// The limits of the EIPs under a fork.
    #[must_use]
    pub fn of(fork: Fork) -> Self {
        match fork >= Fork::Amsterdam {
            true => Self { code: CODE_AMSTERDAM, initcode: INITCODE_AMSTERDAM },
            false => Self::default(),
        }
    }
}

/// The limits of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeSize {
    /// `None` for the limits of the EIPs.
    own: Option<Own>,
}

/// A chain's own limits; no limit before they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Own {
    /// Most bytes of code.
    code: usize,
    /// Most bytes of creation code; `None` for the number of the EIPs.
    initcode: Option<usize>,
    /// Whether they end with Amsterdam.
    until_amsterdam: bool,
    since: u64,
    since_time: Option<u64>,
}

impl CodeSize {
    /// Besu's `contractSizeLimit`, which leaves creation code at the number of the EIPs (Besu,
    /// `EvmConfiguration.overrides`).
    pub(super) fn besu(code: u64) -> Self {
        let (code, initcode) = (bytes(code), None);
        let (since, since_time, until_amsterdam) = (0, None, false);
        Self { own: Some(Own { code, initcode, until_amsterdam, since, since_time }) }
    }

    /// Nethermind's `maxCodeSize` from a block or a time on; none for no limit. Creation code may
    /// be twice as long (Nethermind, `IReleaseSpec.MaxInitCodeSize`). EIP-7954 replaces both
    /// (Nethermind, `ChainSpecBasedSpecProvider`).
    pub(super) fn nethermind(code: Option<u64>, since: u64, since_time: Option<u64>) -> Self {
        let code = code.map_or(usize::MAX, bytes);
        let initcode = Some(code.saturating_mul(2));
        let until_amsterdam = true;
        Self { own: Some(Own { code, initcode, until_amsterdam, since, since_time }) }
    }

    /// The limits as far as blocks up to this number and time (seconds) depend on them: of limits
    /// that begin later it keeps only that there are none before.
    pub(super) fn up_to(&self, number: u64, time: u64) -> Self {
        let Some(own) = self.own else { return Self::default() };
        let since = if own.since <= number { own.since } else { u64::MAX };
        let since_time = own.since_time.filter(|since| *since <= time);
        let is_begun = since < u64::MAX || since_time.is_some();
        let (code, initcode) = match is_begun {
            true => (own.code, own.initcode),
            false => (usize::MAX, Some(usize::MAX)),
        };
        Self { own: Some(Own { code, initcode, since, since_time, ..own }) }
    }

    /// The limits of a block of this number and time, which is under `fork`.
    pub fn at(&self, fork: Fork, number: u64, time: u64) -> CodeLimits {
        let usual = CodeLimits::of(fork);
        let Some(own) = self.own.filter(|own| !own.until_amsterdam || fork < Fork::Amsterdam)
        else {
            return usual;
        };
        match number >= own.since || own.since_time.is_some_and(|since| time >= since) {
            true => CodeLimits { code: own.code, initcode: own.initcode.unwrap_or(usual.initcode) },
            false => CodeLimits { code: usize::MAX, initcode: usize::MAX },
        }
    }
}

impl fmt::Display for CodeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Own { code, initcode, since, since_time, .. }) = &self.own else {
            return f.write_str("the limits of the EIPs");
        };
        let size = |bytes: usize| match bytes {
            usize::MAX => "no limit".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        let initcode = initcode.map_or("that of the EIPs".to_owned(), size);
        write!(f, "code: {}, creation code: {initcode}", size(*code))?;
        match (*since, since_time) {
            (u64::MAX, None) => f.write_str(", not begun"),
            (u64::MAX, Some(time)) => write!(f, " from time {time} on"),
            (block, None) => write!(f, " from block {block} on"),
            (block, Some(time)) => write!(f, " from block {block} or time {time} on"),
        }
    }
}

fn bytes(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Fork::{Amsterdam, Osaka};

    #[test]
    fn limits_begin_at_a_block_or_at_a_time_and_creation_code_follows_where_the_client_does() {
        let none = CodeLimits { code: usize::MAX, initcode: usize::MAX };
        let limits = |code, initcode| CodeLimits { code, initcode };
        let usual = CodeSize::default();
        let of_forks = [usual.at(Osaka, 0, 0), usual.at(Amsterdam, 0, 0)];
        assert_eq!(of_forks, [limits(0x6000, 0xc000), limits(0x10000, 0x20000)]);
        let own = CodeSize::besu(64);
        let of_forks = [own.at(Osaka, 0, 0), own.at(Amsterdam, 0, 0)];
        assert_eq!(of_forks, [limits(64, 0xc000), limits(64, 0x20000)]);
        let own = CodeSize::nethermind(Some(100), 7, None);
        assert_eq!([own.at(Osaka, 6, 99), own.at(Osaka, 7, 0)], [none, limits(100, 200)]);
        assert_eq!([6, 7].map(|block| own.at(Amsterdam, block, 0)), [limits(0x10000, 0x20000); 2]);
        let own = CodeSize::nethermind(Some(100), u64::MAX, Some(50));
        assert_eq!([own.at(Osaka, 6, 49), own.at(Osaka, 6, 50)], [none, limits(100, 200)]);
        assert_eq!(CodeSize::nethermind(None, 0, None).at(Osaka, 9, 9), none);
    }
}
