//! Options of witness verification.

use blockmill_signatures::KeyTables;

/// Bytes for tables of public keys: about 480 keys. The limit keeps an import below the memory of
/// neo-go.
const KEY_TABLES: usize = 40 << 20;

blockmill_signatures::signature_lanes!(blockmill_pipeline, level Headers);

blockmill_pipeline::named_option! {
    /// Whether decoded public keys are kept.
    pub enum PublicKeys: "keys" {
        /// Decode the public key of each signature.
        Anew = "anew",
        /// Keep tables of the public keys that sign repeatedly, within 40 MiB.
        Tables = "tables",
    }
}

impl PublicKeys {
    /// Tables of the configured size.
    #[must_use]
    pub fn tables(self) -> KeyTables {
        KeyTables::new(match self {
            Self::Anew => 0,
            Self::Tables => KEY_TABLES,
        })
    }
}
