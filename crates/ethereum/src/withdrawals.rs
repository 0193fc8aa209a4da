//! Withdrawals from the beacon chain (EIP-4895), decoded in place.

use crate::Address;
use rlp::{Error, Item, Reader};

/// One withdrawal of a block body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithdrawalView<'a> {
    /// The whole encoding, which the withdrawals trie holds.
    pub encoding: &'a [u8],
    /// Running number over all blocks.
    pub index: u64,
    /// Validator on the beacon chain.
    pub validator: u64,
    /// Receiver.
    pub address: &'a Address,
    /// Gwei that it receives.
    pub amount: u64,
}

impl<'a> WithdrawalView<'a> {
    /// Decodes the withdrawal `item` of a body.
    pub fn decode(item: &Item<'a>) -> Result<Self, Error> {
        let mut list = Reader::with_base(item.raw, item.offset).list()?;
        let withdrawal = Self {
            encoding: item.raw,
            index: list.u64()?,
            validator: list.u64()?,
            address: list.fixed()?,
            amount: list.u64()?,
        };
        list.finish()?;
        Ok(withdrawal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withdrawals_have_exactly_four_fields() {
        let mut fields = vec![0x01, 0x82, 0x03, 0xe8, 0x94];
        fields.extend([7; 20]);
        fields.extend([0x83, 0x0f, 0x42, 0x40]);
        let list = |fields: &[u8]| [&[0xc0 + fields.len() as u8], fields].concat();
        let decode = |raw: &[u8]| {
            let item = Reader::new(raw).item()?;
            WithdrawalView::decode(&item).map(|w| (w.index, w.validator, *w.address, w.amount))
        };
        assert_eq!(decode(&list(&fields)), Ok((1, 1000, [7; 20], 1_000_000)));
        assert!(decode(&list(&[&fields[..], &[0x80]].concat())).is_err());
        assert!(decode(&list(&fields[..fields.len() - 4])).is_err());
        assert!(decode(&[0x81, 0x80]).is_err());
    }
}
