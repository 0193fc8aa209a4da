//! Families of chains.

/// Chains that share formats, stores and rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Blocks by number, in archives of several formats.
    Ethereum,
    /// Block files; coins, undo data and a block index.
    Bitcoin,
    /// Block dumps; contract storage and state roots.
    Neo,
}
