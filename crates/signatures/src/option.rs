//! The option of a program that selects a [`Width`](crate::Width).

/// Declares the option `signatures` of a chain: the enum `SignatureLanes` with a value for each
/// [`Width`](crate::Width), and its method `verifier`.
///
/// The first argument is a crate with the macro `named_option!` and the type `options::Needs`, as
/// `blockmill-pipeline` has them, so that this crate does not depend on it. The level is the lowest
/// one at which the option has an effect.
///
/// ```ignore
/// blockmill_signatures::signature_lanes!(blockmill_pipeline, level Bodies);
/// ```
#[macro_export]
macro_rules! signature_lanes {
    ($options:ident, level $level:ident) => {
        $options::named_option! {
            /// How signatures are verified: one by one, or in the lanes of vector registers.
            pub enum SignatureLanes: "signatures", level $level {
                /// One by one.
                Scalar = "scalar",
                /// Four at a time (AVX2 and FMA).
                Avx2 = "avx2" if $options::options::Needs::Cpu(
                    || $crate::Signatures::with($crate::Width::Avx2).is_some()
                ),
                /// Eight at a time, several vectors interleaved (AVX-512 IFMA).
                Ifma = "ifma" if $options::options::Needs::Cpu(
                    || $crate::Signatures::with($crate::Width::Ifma).is_some()
                ),
            }
        }

        impl SignatureLanes {
            /// The verifier; the scalar one if the CPU lacks the lanes.
            #[must_use]
            pub fn verifier(self) -> $crate::Signatures {
                let width = match self {
                    Self::Scalar => $crate::Width::Scalar,
                    Self::Avx2 => $crate::Width::Avx2,
                    Self::Ifma => $crate::Width::Ifma,
                };
                $crate::Signatures::with(width).unwrap_or_else($crate::Signatures::scalar)
            }
        }
    };
}
