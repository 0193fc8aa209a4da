//! Builds the genesis block from the configuration (`core.CreateGenesisBlock`).

use super::{GenesisTransaction, Protocol};
use crate::body::merkle;
use crate::types::{Error, Header, Scopes, UInt160, UInt256, Witness, write};
use blockmill_hashes::sha256;

/// 15 July 2016, 15:08:21 UTC, in milliseconds.
const TIMESTAMP: u64 = 1_468_595_301_000;
const NONCE: u64 = 2_083_236_893;
/// `PUSH1`: a witness that needs no signature.
const ANYBODY: Witness<'_> = Witness { invocation: &[], verification: &[0x11] };

impl Protocol {
    /// The encoded genesis block.
    #[must_use]
    pub fn genesis_block(&self) -> Vec<u8> {
        let transaction = self.genesis.transaction.as_ref().map(|each| self.transaction(each));
        let hash = transaction.as_ref().map(|(_, signed)| UInt256(sha256(signed)));
        let header = Header {
            merkle_root: merkle::root(hash.as_slice()),
            timestamp: TIMESTAMP,
            nonce: NONCE,
            next_consensus: self.first_consensus(),
            previous_state_root: self.state_root_in_header.then_some(UInt256::ZERO),
            ..Header::default()
        };
        let mut block = Vec::new();
        header.write(ANYBODY, &mut block);
        write::number(&mut block, u64::from(transaction.is_some()));
        if let Some((signers, signed)) = transaction {
            block.extend_from_slice(&signed);
            write::number(&mut block, signers);
            (0..signers).for_each(|_| ANYBODY.write(&mut block));
        }
        block
    }

    /// The number of signers of the transaction, and its hashed bytes.
    fn transaction(&self, given: &GenesisTransaction) -> (u64, Vec<u8>) {
        let mut signers = vec![self.first_consensus()];
        let committee = self.standby_committee_account();
        if committee != signers[0] {
            signers.push(committee);
        }
        let mut signed = vec![0];
        signed.extend_from_slice(&0_u32.to_le_bytes());
        signed.extend_from_slice(&given.system_fee.to_le_bytes());
        signed.extend_from_slice(&0_i64.to_le_bytes());
        signed.extend_from_slice(&1_u32.to_le_bytes());
        write::number(&mut signed, signers.len() as u64);
        for UInt160(account) in &signers {
            signed.extend_from_slice(account);
            signed.push(Scopes::CALLED_BY_ENTRY.0);
        }
        write::number(&mut signed, 0);
        write::string(&mut signed, &given.script);
        (signers.len() as u64, signed)
    }

    /// The hash of the genesis block.
    ///
    /// # Errors
    /// Returns a decode error if its transaction is invalid: the script is too long or empty, or
    /// the fee is negative.
    pub fn genesis_hash(&self) -> Result<UInt256, Error> {
        let mut block = crate::types::Block { raw: self.genesis_block(), ..<_>::default() };
        block.decode(self.state_root_in_header, &blockmill_hashes::ManySha256::scalar())?;
        Ok(block.hash)
    }
}
