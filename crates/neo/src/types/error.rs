//! Why bytes are no header, block or transaction.

/// Why bytes are none. `at` is the offset of the first byte that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end too early.
    #[error("byte {at}: expected {expected} bytes, found {found} before the end")]
    Truncated {
        /// Where the part begins that is cut.
        at: u32,
        /// Bytes of that part.
        expected: u64,
        /// Bytes left.
        found: u32,
    },
    /// A count or length that has a shorter encoding.
    #[error(
        "byte {at}: number encoded too long: expected at least {expected} in this form, \
         found {found}"
    )]
    NotCanonical {
        /// Where it stands.
        at: u32,
        /// The least that is encoded this way.
        expected: u64,
        /// The number.
        found: u64,
    },
    /// A count or a length over its limit.
    #[error("byte {at}: {what}: expected at most {expected}, found {found}")]
    TooMany {
        /// Where it stands.
        at: u32,
        /// What is counted.
        what: &'static str,
        /// The limit.
        expected: u64,
        /// The number.
        found: u64,
    },
    /// A field with a value that it cannot have.
    #[error("byte {at}: {what}: expected {expected}, found {found}")]
    Field {
        /// Where it stands.
        at: u32,
        /// Which field.
        what: &'static str,
        /// What it may be.
        expected: &'static str,
        /// Its value.
        found: u64,
    },
    /// The same account or attribute twice in one transaction.
    #[error("byte {at}: {what}: expected each once, found {found} again")]
    Repeated {
        /// Where it stands for the second time.
        at: u32,
        /// What should be unique.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// Bytes behind the end.
    #[error("expected {expected} bytes, found {found}")]
    Trailing {
        /// Its length.
        expected: u32,
        /// The bytes given.
        found: u32,
    },
    /// More bytes than anything of this kind may have.
    #[error("too long: expected at most {expected} bytes, found {found}")]
    TooLong {
        /// The limit.
        expected: usize,
        /// The bytes given.
        found: usize,
    },
}
