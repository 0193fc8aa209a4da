//! How headers are hashed.

use blockmill_hashes::ManyKeccak;

blockmill_pipeline::named_option! {
    /// How headers, and the messages that transactions sign, are hashed.
    pub enum Hashes: "hash" {
        /// One message at a time.
        Single = "single",
        /// Four or eight messages at a time in vector lanes.
        Multi = "multi",
    }
}

impl Hashes {
    /// The hash function.
    #[must_use]
    pub fn hasher(self) -> ManyKeccak {
        match self {
            Self::Single => ManyKeccak::scalar(),
            Self::Multi => ManyKeccak::detect(),
        }
    }
}
