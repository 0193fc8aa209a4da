//! How long code may be: numbers of EIP-170 and EIP-3860, unless a chain has its own.

use std::fmt;

/// Most bytes of a contract's code from Spurious Dragon on (EIP-170).
const CODE: usize = 24_576;
/// Most bytes of creation code from Shanghai on (EIP-3860).
pub const MAX_INITCODE_SIZE: usize = 49_152;

/// The limits of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLimits {
    /// Most bytes of a contract's code, from Spurious Dragon on.
    pub code: usize,
    /// Most bytes of creation code, from Shanghai on.
    pub initcode: usize,
}

impl Default for CodeLimits {
    /// The limits of the EIPs.
    fn default() -> Self {
        Self { code: CODE, initcode: MAX_INITCODE_SIZE }
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
    limits: CodeLimits,
    since: u64,
    since_time: Option<u64>,
}

impl CodeSize {
    /// Besu's `contractSizeLimit`, which leaves creation code at the number of EIP-3860 (Besu,
    /// `EvmConfiguration.overrides`).
    pub(super) fn besu(code: u64) -> Self {
        let limits = CodeLimits { code: bytes(code), ..CodeLimits::default() };
        Self { own: Some(Own { limits, since: 0, since_time: None }) }
    }

    /// Nethermind's `maxCodeSize` from a block or a time on; none for no limit. Creation code may
    /// be twice as long (Nethermind, `IReleaseSpec.MaxInitCodeSize`).
    pub(super) fn nethermind(code: Option<u64>, since: u64, since_time: Option<u64>) -> Self {
        let code = code.map_or(usize::MAX, bytes);
        let limits = CodeLimits { code, initcode: code.saturating_mul(2) };
        Self { own: Some(Own { limits, since, since_time }) }
    }

    /// The limits as far as blocks up to this number and time (seconds) depend on them: of limits
    /// that begin later it keeps only that there are none before.
    pub(super) fn up_to(&self, number: u64, time: u64) -> Self {
        let Some(own) = self.own else { return Self::default() };
        let since = if own.since <= number { own.since } else { u64::MAX };
        let since_time = own.since_time.filter(|since| *since <= time);
        let none = CodeLimits { code: usize::MAX, initcode: usize::MAX };
        let is_begun = since < u64::MAX || since_time.is_some();
        let limits = if is_begun { own.limits } else { none };
        Self { own: Some(Own { limits, since, since_time }) }
    }

    /// The limits of a block of this number and time.
    pub fn at(&self, number: u64, time: u64) -> CodeLimits {
        let Some(own) = &self.own else { return CodeLimits::default() };
        match number >= own.since || own.since_time.is_some_and(|since| time >= since) {
            true => own.limits,
            false => CodeLimits { code: usize::MAX, initcode: usize::MAX },
        }
    }
}

impl fmt::Display for CodeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Own { limits, since, since_time }) = &self.own else {
            return f.write_str("the limits of EIP-170 and EIP-3860");
        };
        let size = |bytes: usize| match bytes {
            usize::MAX => "no limit".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        write!(f, "code: {}, creation code: {}", size(limits.code), size(limits.initcode))?;
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

    #[test]
    fn limits_begin_at_a_block_or_at_a_time_and_creation_code_follows_where_the_client_does() {
        let none = CodeLimits { code: usize::MAX, initcode: usize::MAX };
        assert_eq!(CodeSize::default().at(0, 0), CodeLimits { code: 0x6000, initcode: 0xc000 });
        assert_eq!(CodeSize::besu(64).at(0, 0), CodeLimits { code: 64, initcode: 0xc000 });
        let own = CodeSize::nethermind(Some(100), 7, None);
        let limits = CodeLimits { code: 100, initcode: 200 };
        assert_eq!([own.at(6, 99), own.at(7, 0)], [none, limits]);
        let own = CodeSize::nethermind(Some(100), u64::MAX, Some(50));
        assert_eq!([own.at(6, 49), own.at(6, 50)], [none, limits]);
        assert_eq!(CodeSize::nethermind(None, 0, None).at(9, 9), none);
    }
}
