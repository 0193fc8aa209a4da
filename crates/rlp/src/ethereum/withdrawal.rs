//! Withdrawals from the beacon chain, items of a block body (EIP-4895).

/// One withdrawal.
///
/// ```
/// use blockmill_rlp::ethereum::Withdrawal;
/// use blockmill_rlp::{Decode, Encode};
///
/// let withdrawal = Withdrawal { index: 1, validator: 2, address: &[3; 20], amount: 4 };
/// let bytes = withdrawal.encode();
/// assert_eq!(Withdrawal::decode(&bytes), Ok(withdrawal));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawal<'a> {
    /// Running number over all blocks.
    pub index: u64,
    /// Validator on the beacon chain.
    pub validator: u64,
    /// Receiver.
    pub address: &'a [u8; 20],
    /// Gwei that it receives.
    pub amount: u64,
}

crate::list!(Withdrawal<'a> { index: u64, validator: u64, address: &'a [u8; 20], amount: u64 });
