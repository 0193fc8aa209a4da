//! Decode errors of headers, blocks and transactions.

/// A decode error. `at` is the offset of the first invalid byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end too early.
    #[error("byte {at}: expected {expected} bytes, found {found} before the end")]
    Truncated {
        /// Offset of the truncated part.
        at: u32,
        /// Its length in bytes.
        expected: u64,
        /// Remaining bytes.
        found: u32,
    },
    /// A count or length that has a shorter encoding.
    #[error(
        "byte {at}: number encoded too long: expected at least {expected} in this form, \
         found {found}"
    )]
    NotCanonical {
        /// Its offset.
        at: u32,
        /// The smallest number with this form.
        expected: u64,
        /// The number.
        found: u64,
    },
    /// A count or a length over its limit.
    #[error("byte {at}: {what}: expected at most {expected}, found {found}")]
    TooMany {
        /// Its offset.
        at: u32,
        /// What is counted.
        what: &'static str,
        /// The limit.
        expected: u64,
        /// The number.
        found: u64,
    },
    /// A field with an invalid value.
    #[error("byte {at}: {what}: expected {expected}, found {found}")]
    Field {
        /// Its offset.
        at: u32,
        /// Which field.
        what: &'static str,
        /// The valid values.
        expected: &'static str,
        /// Its value.
        found: u64,
    },
    /// The same account or attribute twice in one transaction.
    #[error("byte {at}: {what}: expected each once, found {found} again")]
    Repeated {
        /// Offset of the second occurrence.
        at: u32,
        /// What should be unique.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// Bytes after the end.
    #[error("expected {expected} bytes, found {found}")]
    Trailing {
        /// Its length.
        expected: u32,
        /// The bytes given.
        found: u32,
    },
    /// More bytes than the limit.
    #[error("too long: expected at most {expected} bytes, found {found}")]
    TooLong {
        /// The limit.
        expected: usize,
        /// The bytes given.
        found: usize,
    },
}
