//! Options of the recovery of senders.

use blockmill_pipeline::options::Needs;
use blockmill_signatures::{Signatures, Variant};

blockmill_pipeline::named_option! {
    /// Which transactions have their senders recovered together.
    pub enum SenderBatches: "sender-batches", level Bodies {
        /// Those of one block.
        Block = "block",
        /// Those of a whole chunk of blocks.
        Chunk = "chunk",
    }
}

blockmill_pipeline::named_option! {
    /// How senders are recovered: one by one, or in the lanes of vector registers.
    pub enum SignatureLanes: "signatures", level Bodies {
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
