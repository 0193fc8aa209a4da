//! A refused transaction as a broken rule of its block.

use super::TransactionError;
use crate::body::signing::{GROUP_ORDER, SignatureError};
use crate::rule::{Rule, Violation};

impl From<TransactionError> for Violation {
    fn from(error: TransactionError) -> Self {
        use TransactionError as E;
        match error {
            E::Signature(error) => error.into(),
            E::Type { newest, found } => {
                let expected = format!("at most {}", newest as u8);
                Self::new(Rule::TransactionType, expected, found as u8)
            }
            E::Nonce { found } => Self::new(Rule::TransactionNonce, "a smaller one", found),
            E::PriorityFee { max_fee, found } => {
                let expected = format!("at most the whole fee, {max_fee}");
                Self::new(Rule::PriorityFee, expected, found)
            }
            E::UpfrontCost { gas_limit, max_fee } => {
                let found = format!("{gas_limit} gas for {max_fee} wei each");
                Self::new(Rule::UpfrontCost, "less than 2^256 wei in all", found)
            }
            E::GasLimit { max, found } => at_most(Rule::TransactionGasLimit, max, found),
            E::InitcodeSize { max, found } => at_most(Rule::InitcodeSize, max, found),
            E::IntrinsicGas { needed, gas_limit } => {
                Self::new(Rule::IntrinsicGas, format!("at least {needed}"), gas_limit)
            }
            E::GasDue { max, needed } => at_most(Rule::IntrinsicGas, max, needed),
            E::Blobs { max, found } => at_most(Rule::TransactionBlobs, max, found),
            E::BlockGas { max, found } => at_most(Rule::BlockGasLimit, max, found),
            E::BaseFee { least, found } => {
                Self::new(Rule::MaxFee, format!("at least the base fee, {least}"), found)
            }
            E::BlobFee { least: Some(least), found } => {
                Self::new(Rule::MaxBlobFee, format!("at least {least}"), found)
            }
            E::BlobFee { least: None, found } => {
                Self::new(Rule::MaxBlobFee, "more than 256 bits", found)
            }
        }
    }
}

impl From<SignatureError> for Violation {
    fn from(error: SignatureError) -> Self {
        match error {
            SignatureError::V { found, protected: false } => {
                Self::new(Rule::SignatureV, "27 or 28, in typed transactions 0 or 1", found)
            }
            SignatureError::V { found, protected: true } => {
                Self::new(Rule::SignatureV, "27, 28 or one that names the chain", found)
            }
            SignatureError::ChainId { expected, found } => {
                Self::new(Rule::SignatureChainId, expected, found)
            }
            SignatureError::R { found } => {
                let expected = format!("1 or more and less than {GROUP_ORDER:#x}");
                Self::new(Rule::SignatureR, expected, format_args!("{found:#x}"))
            }
            SignatureError::S { max, found } => {
                let expected = format!("1 or more and at most {max:#x}");
                Self::new(Rule::SignatureS, expected, format_args!("{found:#x}"))
            }
            SignatureError::NoSigner(_) => {
                Self::new(Rule::SignatureKey, "a signature of some key", "one of no key")
            }
        }
    }
}

fn at_most<T: std::fmt::Display>(rule: Rule, max: T, found: T) -> Violation {
    Violation::new(rule, format!("at most {max}"), found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::U256;
    use crate::body::transactions::TransactionType;
    use crate::fault::{Cause, Fault};
    use blockmill_signatures::RecoverError;

    #[test]
    fn each_error_is_a_rule_with_what_was_expected_and_found() {
        use TransactionError as E;
        let (seven, nine) = (U256::from(7), U256::from(9));
        let (newest, found) = (TransactionType::Legacy, TransactionType::Blob);
        for (error, rule, expected, found) in [
            (E::Type { newest, found }, Rule::TransactionType, "at most 0", "3"),
            (
                E::Nonce { found: u64::MAX },
                Rule::TransactionNonce,
                "smaller",
                "18446744073709551615",
            ),
            (E::PriorityFee { max_fee: seven, found: nine }, Rule::PriorityFee, "fee, 7", "9"),
            (E::UpfrontCost { gas_limit: 9, max_fee: seven }, Rule::UpfrontCost, "2^256", "9 gas"),
            (E::GasLimit { max: 7, found: 9 }, Rule::TransactionGasLimit, "at most 7", "9"),
            (E::InitcodeSize { max: 7, found: 9 }, Rule::InitcodeSize, "at most 7", "9"),
            (E::IntrinsicGas { needed: 9, gas_limit: 7 }, Rule::IntrinsicGas, "at least 9", "7"),
            (E::Blobs { max: 7, found: 9 }, Rule::TransactionBlobs, "at most 7", "9"),
            (E::BlockGas { max: 7, found: 9 }, Rule::BlockGasLimit, "at most 7", "9"),
            (E::BaseFee { least: nine, found: seven }, Rule::MaxFee, "base fee, 9", "7"),
            (E::BlobFee { least: Some(nine), found: seven }, Rule::MaxBlobFee, "at least 9", "7"),
            (E::BlobFee { least: None, found: seven }, Rule::MaxBlobFee, "256 bits", "7"),
        ] {
            let violation = Violation::from(error);
            assert_eq!(violation.rule, rule);
            assert!(violation.expected.contains(expected), "{violation}");
            assert!(violation.found.starts_with(found), "{violation}");
        }
    }

    #[test]
    fn each_number_of_a_signature_has_its_rule() {
        use SignatureError as E;
        let found = U256::from(9);
        for (error, rule) in [
            (E::V { found, protected: false }, Rule::SignatureV),
            (E::V { found, protected: true }, Rule::SignatureV),
            (E::ChainId { expected: U256::ONE, found }, Rule::SignatureChainId),
            (E::R { found }, Rule::SignatureR),
            (E::S { max: U256::from(7), found }, Rule::SignatureS),
            (E::NoSigner(RecoverError::NoKey), Rule::SignatureKey),
        ] {
            assert_eq!(Violation::from(TransactionError::from(error)).rule, rule);
        }
    }

    #[test]
    fn a_fault_names_the_transaction() {
        let error = SignatureError::ChainId { expected: U256::ONE, found: U256::from(5) };
        let cause = Cause::Rule(Violation::from(error).in_transaction(3));
        let fault = Fault { block: 7, hash: None, location: None, cause };
        let expected = "block 7: transaction 3: chain of the signature (EIP-155, EIP-2718): \
            expected 1, found 5";
        assert_eq!(fault.to_string(), expected);
    }
}
