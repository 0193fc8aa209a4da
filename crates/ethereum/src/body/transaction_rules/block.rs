//! What a block's header asks of each of its transactions, whatever the others do.
//!
//! Gas that earlier transactions of the block have used is known at execution only, so a limit is
//! compared with the whole block's.

use super::TransactionError;
use crate::U256;
use crate::body::transactions::{Transaction, TransactionType};
use crate::header::{HeaderView, blob_base_fee};
use crate::params::BlobParams;

/// The terms of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockTerms {
    gas_limit: u64,
    /// Wei for a unit of gas; `None` before London.
    base_fee: Option<U256>,
    /// Excess of blob gas, and the parameters that turn it into a price; `None` before Cancun.
    blobs: Option<(u64, BlobParams)>,
}

impl BlockTerms {
    /// The terms of the block with this header, under these blob parameters.
    pub fn new(header: &HeaderView<'_>, blobs: Option<&BlobParams>) -> Self {
        Self {
            gas_limit: header.gas_limit,
            base_fee: header.base_fee,
            blobs: header.excess_blob_gas.zip(blobs.copied()),
        }
    }

    /// The transaction keeps all of them.
    pub fn verify(&self, tx: &Transaction<'_>) -> Result<(), TransactionError> {
        self.verify_gas_limit(tx)?;
        self.verify_max_fee(tx)?;
        self.verify_blob_fee(tx)
    }

    /// A transaction asks for no more gas than its block has (Yellow Paper, section 6.2).
    pub fn verify_gas_limit(&self, tx: &Transaction<'_>) -> Result<(), TransactionError> {
        let (max, found) = (self.gas_limit, tx.gas_limit);
        if found > max { Err(TransactionError::BlockGas { max, found }) } else { Ok(()) }
    }

    /// The fee is not less than the base fee (EIP-1559).
    pub fn verify_max_fee(&self, tx: &Transaction<'_>) -> Result<(), TransactionError> {
        match self.base_fee {
            Some(least) if tx.max_fee < least => {
                Err(TransactionError::BaseFee { least, found: tx.max_fee })
            }
            _ => Ok(()),
        }
    }

    /// The fee for blobs is not less than the block's price of them (EIP-4844).
    pub fn verify_blob_fee(&self, tx: &Transaction<'_>) -> Result<(), TransactionError> {
        let (TransactionType::Blob, Some((excess, params))) = (tx.kind, &self.blobs) else {
            return Ok(());
        };
        match blob_base_fee(params, *excess) {
            Some(least) if tx.max_blob_fee >= least => Ok(()),
            least => Err(TransactionError::BlobFee { least, found: tx.max_blob_fee }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;

    fn terms(header: &Header) -> BlockTerms {
        BlockTerms::new(&header.view(&[]), Some(&BlobParams::CANCUN))
    }

    #[test]
    fn a_transaction_has_room_in_its_block() {
        let terms = terms(&Header { gas_limit: 30_000, ..Header::default() });
        let tx = |gas_limit| Transaction { gas_limit, ..Transaction::new(TransactionType::Legacy) };
        assert_eq!(terms.verify(&tx(30_000)), Ok(()));
        let refused = TransactionError::BlockGas { max: 30_000, found: 30_001 };
        assert_eq!(terms.verify(&tx(30_001)), Err(refused));
    }

    #[test]
    fn the_base_fee_is_the_least_fee_of_every_type() {
        let least = U256::from(7);
        let header = Header { base_fee: Some(least), ..Header::default() };
        for kind in TransactionType::ALL {
            let tx = |fee: u64| Transaction { max_fee: U256::from(fee), ..Transaction::new(kind) };
            assert_eq!(terms(&header).verify_max_fee(&tx(7)), Ok(()));
            let refused = TransactionError::BaseFee { least, found: U256::from(6) };
            assert_eq!(terms(&header).verify_max_fee(&tx(6)), Err(refused));
            assert_eq!(terms(&Header::default()).verify_max_fee(&tx(0)), Ok(()));
        }
    }

    #[test]
    fn blobs_have_a_price_that_the_excess_sets() {
        let blob = |fee| Transaction {
            max_blob_fee: U256::from(fee),
            ..Transaction::new(TransactionType::Blob)
        };
        let terms = |excess| terms(&Header { excess_blob_gas: Some(excess), ..Header::default() });
        assert_eq!(terms(0).verify_blob_fee(&blob(1)), Ok(()));
        let least = Some(U256::ONE);
        let refused = TransactionError::BlobFee { least, found: U256::ZERO };
        assert_eq!(terms(0).verify_blob_fee(&blob(0)), Err(refused));
        // e is 2.718
        let e = BlobParams::CANCUN.base_fee_update_fraction;
        assert_eq!(terms(e).verify_blob_fee(&blob(2)), Ok(()));
        assert!(terms(e).verify_blob_fee(&blob(1)).is_err());
        let refused = TransactionError::BlobFee { least: None, found: U256::from(9) };
        assert_eq!(terms(u64::MAX).verify_blob_fee(&blob(9)), Err(refused));
        let legacy = Transaction::new(TransactionType::Legacy);
        assert_eq!(terms(u64::MAX).verify_blob_fee(&legacy), Ok(()));
    }
}
