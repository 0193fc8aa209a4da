//! Batch recovery of the signers of code delegations (EIP-7702), before their execution.
//!
//! A delegation without a valid signature has no effect; its transaction stays valid.

use super::Environment;
use crate::body::signing::{MAX_LOW_S, address_of};
use crate::execute::PreparedTransaction;
use blockmill_signatures::{Recovery, Signatures};
use revm::context::transaction::{RecoveredAuthority, RecoveredAuthorization, SignedAuthorization};
use revm::context_interface::either::Either;

/// The recovery of a delegation's signature. `None` if its form is not valid.
fn asked(signed: &SignedAuthorization) -> Option<Recovery> {
    let counts = signed.y_parity() <= 1 && signed.s() <= MAX_LOW_S;
    counts.then(|| Recovery {
        digest: signed.signature_hash().0,
        r: signed.r().to_be_bytes(),
        s: signed.s().to_be_bytes(),
        recovery_id: signed.y_parity(),
    })
}

/// Recovers the signers of the delegations of these transactions.
pub fn recover_authorities<'t>(
    signatures: Signatures,
    transactions: impl Iterator<Item = &'t mut PreparedTransaction>,
) {
    let mut delegations: Vec<_> = transactions
        .filter_map(|tx| tx.environment.as_mut())
        .flat_map(|Environment(environment)| &mut environment.authorization_list)
        .collect();
    if delegations.is_empty() {
        return;
    }
    let all: Vec<Option<Recovery>> =
        delegations.iter().map(|one| one.as_ref().left().and_then(asked)).collect();
    let counted: Vec<Recovery> = all.iter().flatten().copied().collect();
    let mut keys = vec![None; counted.len()];
    signatures.recover(&counted, &mut keys);
    let mut keys = keys.into_iter();
    for (delegation, asked) in delegations.iter_mut().zip(&all) {
        let key = asked.and_then(|_| keys.next().flatten());
        if let Either::Left(signed) = &**delegation {
            let authority = key.map_or(RecoveredAuthority::Invalid, |key| {
                RecoveredAuthority::Valid(address_of(&key).into())
            });
            let inner = signed.inner().clone();
            **delegation = Either::Right(RecoveredAuthorization::new_unchecked(inner, authority));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::U256;
    use crate::body::signing::GROUP_ORDER;
    use blockmill_rlp::ethereum::TransactionType;
    use revm::context::TxEnv;
    use revm::context::transaction::Authorization;

    fn delegation(seed: u64) -> SignedAuthorization {
        let number = |salt: u8| {
            let mut seed = seed.to_be_bytes().to_vec();
            seed.push(salt);
            U256::from_be_bytes(blockmill_hashes::keccak256(&seed))
        };
        let (chain_id, address) = (U256::from(seed % 3), [seed as u8; 20].into());
        let inner = Authorization { chain_id, address, nonce: seed * seed };
        let r = match seed % 16 {
            1 => U256::ZERO,
            2 => GROUP_ORDER,
            3 => GROUP_ORDER + U256::from(7),
            _ => number(1),
        };
        let s = match seed % 16 {
            4 => U256::ZERO,
            5 => MAX_LOW_S,
            6 => MAX_LOW_S + U256::ONE,
            7 => U256::MAX,
            _ => number(2) >> 1,
        };
        let y_parity = [0, 1, 0, 1, 0, 1, 2, 27][(seed / 16 % 8) as usize];
        SignedAuthorization::new_unchecked(inner, y_parity, r, s)
    }

    fn transaction(delegations: &[SignedAuthorization]) -> PreparedTransaction {
        let authorization_list = delegations.iter().cloned().map(Either::Left).collect();
        let environment = TxEnv { authorization_list, ..TxEnv::default() };
        PreparedTransaction {
            kind: TransactionType::SetCode,
            sender: [0; 20],
            gas_limit: 0,
            environment: Some(Environment(environment)),
            wide: None,
        }
    }

    #[test]
    fn signers_are_those_that_the_library_finds() {
        let all: Vec<_> = (0..600).map(delegation).collect();
        let expected: Vec<_> = all.iter().cloned().map(|one| one.into_recovered()).collect();
        let valid = expected.iter().filter(|one| one.authority().is_some()).count();
        assert!((100..500).contains(&valid), "{valid}");
        for signatures in [Signatures::scalar(), Signatures::detect()] {
            let mut transactions: Vec<_> = all.chunks(50).map(transaction).collect();
            recover_authorities(signatures, transactions.iter_mut());
            for (transaction, expected) in transactions.iter().zip(expected.chunks(50)) {
                let list = &transaction.environment.as_ref().unwrap().0.authorization_list;
                let found: Vec<_> = list.iter().map(|one| one.as_ref().right()).collect();
                assert_eq!(found, expected.iter().map(Some).collect::<Vec<_>>());
            }
        }
    }
}
