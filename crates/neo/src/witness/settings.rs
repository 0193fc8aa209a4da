//! Options of witness verification.

use blockmill_pipeline::options::Needs;
use blockmill_signatures::{KeyTables, Signatures, Variant};

/// Bytes for tables of public keys: about 480 keys. The limit keeps an import below the memory of
/// neo-go.
const KEY_TABLES: usize = 40 << 20;

blockmill_pipeline::named_option! {
    /// How signatures are verified: one by one, or in the lanes of vector registers.
    pub enum SignatureLanes: "signatures" {
        /// One by one.
        Scalar = "scalar",
        /// Four at a time (AVX2 and FMA).
        Avx2 = "avx2" if Needs::Cpu(|| Signatures::with(Variant::Avx2).is_some()),
        /// Eight at a time, several vectors interleaved (AVX-512 IFMA).
        Ifma = "ifma" if Needs::Cpu(|| Signatures::with(Variant::Ifma).is_some()),
    }
}

impl SignatureLanes {
    /// The verifier; the scalar one if the CPU lacks the lanes.
    #[must_use]
    pub fn verifier(self) -> Signatures {
        let variant = match self {
            Self::Scalar => Variant::Scalar,
            Self::Avx2 => Variant::Avx2,
            Self::Ifma => Variant::Ifma,
        };
        Signatures::with(variant).unwrap_or_else(Signatures::scalar)
    }
}

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
