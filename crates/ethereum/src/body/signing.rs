//! Who signed a transaction.
//!
//! No field names the sender: it follows from the signature. [`sender`] checks the numbers of the
//! signature, hashes what was signed and recovers the key. Its parts are public for batches.

use crate::body::transactions::{Transaction, TransactionType};
use crate::params::Fork;
use crate::{Address, Hash, U256};
use blockmill_rlp::Encode;
use blockmill_signatures::RecoverError;

/// The order of secp256k1's group (SEC 2, section 2.4.1): signatures consist of numbers below it.
pub const GROUP_ORDER: U256 = U256::from_limbs([
    0xbfd2_5e8c_d036_4141,
    0xbaae_dce6_af48_a03b,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
]);

/// The largest `s` from Homestead on (EIP-2): half of the group's order.
pub const MAX_LOW_S: U256 = GROUP_ORDER.wrapping_shr(1);

/// The sender of a transaction under the rules of `fork`, on the chain of this id.
///
/// Errors: numbers of the signature that the fork does not allow, another chain's id, and
/// numbers that are no signature of any key.
pub fn sender(tx: &Transaction<'_>, fork: Fork, chain_id: U256) -> Result<Address, SignatureError> {
    recover_sender(tx, verify_form(tx, fork, chain_id)?)
}

/// The numbers of the signature are those that the fork allows: [`verify_v`], [`verify_r`],
/// [`verify_s`].
pub fn verify_form(
    tx: &Transaction<'_>,
    fork: Fork,
    chain_id: U256,
) -> Result<SignatureForm, SignatureError> {
    let form = verify_v(tx, fork, chain_id)?;
    verify_r(tx)?;
    verify_s(tx, fork)?;
    Ok(form)
}

/// What `v` says about a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureForm {
    /// Whether the y coordinate of the signature's point is odd.
    pub y_parity: bool,
    /// The chain's id, where a legacy signature is for one chain only (EIP-155).
    pub protected: Option<U256>,
}

/// Typed transactions name the chain in a field and `v` is the parity; for legacy ones `v` is 27
/// or 28, and from Spurious Dragon on also 35 or 36 plus twice the chain's id (EIP-155).
pub fn verify_v(
    tx: &Transaction<'_>,
    fork: Fork,
    chain_id: U256,
) -> Result<SignatureForm, SignatureError> {
    let parity = |base: U256| tx.v.checked_sub(base).filter(|v| *v <= U256::ONE);
    if tx.kind != TransactionType::Legacy {
        return match (tx.chain_id, parity(U256::ZERO)) {
            (found, _) if found != chain_id => {
                Err(SignatureError::ChainId { expected: chain_id, found })
            }
            (_, Some(parity)) => Ok(SignatureForm { y_parity: !parity.is_zero(), protected: None }),
            (_, None) => Err(SignatureError::V { found: tx.v, protected: false }),
        };
    }
    if let Some(parity) = parity(U256::from(27)) {
        return Ok(SignatureForm { y_parity: !parity.is_zero(), protected: None });
    }
    let protected = fork >= Fork::SpuriousDragon;
    // an id of more bits leaves no room for it in `v`
    let base = chain_id.checked_mul(U256::from(2)).and_then(|id| id.checked_add(U256::from(35)));
    if protected && let Some(parity) = base.and_then(parity) {
        return Ok(SignatureForm { y_parity: !parity.is_zero(), protected: Some(chain_id) });
    }
    match tx.v.checked_sub(U256::from(35)) {
        Some(twice) if protected => {
            Err(SignatureError::ChainId { expected: chain_id, found: twice >> 1 })
        }
        _ => Err(SignatureError::V { found: tx.v, protected }),
    }
}

/// `r` is positive and below the group's order (Yellow Paper, appendix F).
pub fn verify_r(tx: &Transaction<'_>) -> Result<(), SignatureError> {
    if tx.r.is_zero() || tx.r >= GROUP_ORDER {
        return Err(SignatureError::R { found: tx.r });
    }
    Ok(())
}

/// `s` is positive and below the group's order (Yellow Paper, appendix F), from Homestead on in
/// the lower half (EIP-2), so that nobody else can make another valid signature of it.
pub fn verify_s(tx: &Transaction<'_>, fork: Fork) -> Result<(), SignatureError> {
    let max = if fork >= Fork::Homestead { MAX_LOW_S } else { GROUP_ORDER - U256::ONE };
    if tx.s.is_zero() || tx.s > max {
        return Err(SignatureError::S { max, found: tx.s });
    }
    Ok(())
}

/// The account of the key that signed: the costly part.
pub fn recover_sender(
    tx: &Transaction<'_>,
    form: SignatureForm,
) -> Result<Address, SignatureError> {
    let hash = tx.signing(form.protected).hash();
    let key = blockmill_signatures::recover(
        &hash,
        &tx.r.to_be_bytes(),
        &tx.s.to_be_bytes(),
        form.y_parity,
    );
    key.map(|key| address_of(&key)).map_err(SignatureError::NoSigner)
}

/// The account of a public key, x and y: the last 20 bytes of its Keccak-256 (Yellow Paper,
/// appendix F).
pub fn address_of(public_key: &[u8; 64]) -> Address {
    address_of_hash(&blockmill_hashes::keccak256(public_key))
}

/// The account of a public key with this Keccak-256.
pub(crate) fn address_of_hash(hash: &Hash) -> Address {
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

/// Why a signature is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// `v` has none of the values that the fork allows.
    #[error(
        "v is {found}, expected {}",
        if *protected { "27, 28 or one that names the chain" } else { "27 or 28" }
    )]
    V {
        /// The number that was found.
        found: U256,
        /// Whether the fork allows signatures for one chain (EIP-155).
        protected: bool,
    },
    /// The signature is for another chain.
    #[error("signed for chain {found}, expected {expected}")]
    ChainId {
        /// The chain's id.
        expected: U256,
        /// The id that was found.
        found: U256,
    },
    /// `r` is 0, or not below the group's order.
    #[error("r is {found:#x}, expected 1 or more and less than {GROUP_ORDER:#x}")]
    R {
        /// The number that was found.
        found: U256,
    },
    /// `s` is 0 or too large.
    #[error("s is {found:#x}, expected 1 or more and at most {max:#x}")]
    S {
        /// The largest that the fork allows.
        max: U256,
        /// The number that was found.
        found: U256,
    },
    /// No key makes this signature.
    #[error("{0}")]
    NoSigner(RecoverError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_rlp::Decode;
    use blockmill_testkit::hex;

    /// The example of EIP-155: nonce 9, 20 gwei, 21,000 gas, 1 ether, signed for chain 1.
    const EIP_155: &str = "f86c098504a817c8008252089435353535353535353535353535353535353535\
        35880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276\
        a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
    /// The account of its key.
    const SENDER: &str = "9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f";

    fn example(raw: &[u8]) -> Transaction<'_> {
        Transaction::decode(raw).unwrap()
    }

    #[test]
    fn the_example_of_eip_155_has_its_hash_and_sender() {
        let raw = hex::decode(EIP_155);
        let tx = example(&raw);
        let hash = hex::decode("daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53");
        assert_eq!(tx.signing(Some(U256::ONE)).hash()[..], hash);
        assert_ne!(tx.signing(None).hash()[..], hash);
        assert_eq!(sender(&tx, Fork::SpuriousDragon, U256::ONE).unwrap()[..], hex::decode(SENDER));
    }

    #[test]
    fn v_is_a_parity_or_names_the_chain() {
        let raw = hex::decode(EIP_155);
        let mut tx = example(&raw);
        let form = |y_parity, protected: Option<u64>| {
            Ok(SignatureForm { y_parity, protected: protected.map(U256::from) })
        };
        let mut v = |v: u64, fork, chain: u64| {
            tx.v = U256::from(v);
            verify_v(&tx, fork, U256::from(chain))
        };
        let (before, after) = (Fork::TangerineWhistle, Fork::SpuriousDragon);
        for fork in [before, after] {
            assert_eq!(v(27, fork, 1), form(false, None));
            assert_eq!(v(28, fork, 1), form(true, None));
        }
        assert_eq!(v(37, after, 1), form(false, Some(1)));
        assert_eq!(v(38, after, 1), form(true, Some(1)));
        assert_eq!(v(36, after, 0), form(true, Some(0)));
        let refused =
            |found: u64, protected| Err(SignatureError::V { found: U256::from(found), protected });
        assert_eq!(v(37, before, 1), refused(37, false));
        for found in [0, 1, 26, 29, 34] {
            assert_eq!(v(found, after, 1), refused(found, true));
        }
        let other = |found: u64| {
            Err(SignatureError::ChainId { expected: U256::ONE, found: U256::from(found) })
        };
        assert_eq!((v(36, after, 1), v(39, after, 1)), (other(0), other(2)));
        // twice the largest id has 65 bits
        tx.v = U256::from(u64::MAX) * U256::from(2) + U256::from(36);
        assert_eq!(verify_v(&tx, after, U256::from(u64::MAX)), form(true, Some(u64::MAX)));
        // twice the largest id that fits has 256 bits
        let largest = (U256::MAX - U256::from(35)) >> 1;
        tx.v = U256::MAX;
        let protected = Some(largest);
        assert_eq!(verify_v(&tx, after, largest), Ok(SignatureForm { y_parity: false, protected }));
        let other = SignatureError::ChainId { expected: U256::MAX, found: largest };
        assert_eq!(verify_v(&tx, after, U256::MAX), Err(other));
    }

    #[test]
    fn typed_transactions_name_the_chain_and_the_parity() {
        let raw = hex::decode(EIP_155);
        let mut tx = example(&raw);
        (tx.kind, tx.chain_id) = (TransactionType::DynamicFee, U256::from(5));
        for (v, y_parity) in [(U256::ZERO, false), (U256::ONE, true)] {
            tx.v = v;
            let form = SignatureForm { y_parity, protected: None };
            assert_eq!(verify_v(&tx, Fork::London, U256::from(5)), Ok(form));
            let other = SignatureError::ChainId { expected: U256::ONE, found: U256::from(5) };
            assert_eq!(verify_v(&tx, Fork::London, U256::ONE), Err(other));
        }
        tx.v = U256::from(27);
        assert!(matches!(
            verify_v(&tx, Fork::London, U256::from(5)),
            Err(SignatureError::V { .. })
        ));
    }

    #[test]
    fn r_and_s_are_numbers_of_the_group_and_s_a_low_one_from_homestead_on() {
        let raw = hex::decode(EIP_155);
        let mut tx = example(&raw);
        let last = GROUP_ORDER - U256::ONE;
        for (number, fits, low) in [
            (U256::ZERO, false, false),
            (U256::ONE, true, true),
            (MAX_LOW_S, true, true),
            (MAX_LOW_S + U256::ONE, true, false),
            (last, true, false),
            (GROUP_ORDER, false, false),
        ] {
            (tx.r, tx.s) = (number, number);
            assert_eq!(verify_r(&tx).is_ok(), fits, "{number:#x}");
            assert_eq!(verify_s(&tx, Fork::Frontier).is_ok(), fits, "{number:#x}");
            assert_eq!(verify_s(&tx, Fork::Homestead).is_ok(), low, "{number:#x}");
        }
    }
}
