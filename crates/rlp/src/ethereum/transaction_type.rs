//! The kinds of transactions and of their receipts (EIP-2718).

/// The kinds of transactions, in the order in which forks added them.
///
/// ```
/// use blockmill_rlp::ethereum::TransactionType;
///
/// assert_eq!(TransactionType::from_byte(3), Some(TransactionType::Blob));
/// assert_eq!(TransactionType::from_byte(9), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionType {
    /// Untyped, valid in every fork.
    Legacy = 0,
    /// EIP-2930, from Berlin on.
    AccessList = 1,
    /// EIP-1559, from London on.
    DynamicFee = 2,
    /// EIP-4844, from Cancun on.
    Blob = 3,
    /// EIP-7702, from Prague on.
    SetCode = 4,
}

impl TransactionType {
    /// Every type, oldest first.
    pub const ALL: [Self; 5] =
        [Self::Legacy, Self::AccessList, Self::DynamicFee, Self::Blob, Self::SetCode];

    /// The type that the first byte of a typed encoding names; `None` for an unknown one.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().skip(1).find(|kind| *kind as u8 == byte)
    }
}
