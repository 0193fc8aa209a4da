//! The fields that later forks added: their names, their values, and changes of all of them.

use alloc::string::String;
use ruint::aliases::U256;

/// A field that a later fork added to the header.
///
/// ```
/// use blockmill_rlp::ethereum::Header;
///
/// let field = Header::LATER[0];
/// assert_eq!((field.name, field.rpc_name().as_str()), ("base_fee_per_gas", "baseFeePerGas"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaterField {
    /// Its index in [`Header::LATER`](super::Header::LATER).
    pub index: usize,
    /// Its name in tables; the RPC writes the same words in camel case.
    pub name: &'static str,
}

impl LaterField {
    /// Its name in the RPC and in most JSON files.
    #[must_use]
    pub fn rpc_name(&self) -> String {
        let mut name = String::with_capacity(self.name.len());
        for (i, word) in self.name.split('_').enumerate() {
            let (first, rest) = word.split_at(word.len().min(1));
            if i == 0 {
                name.push_str(first);
            } else {
                name.push_str(&first.to_ascii_uppercase());
            }
            name.push_str(rest);
        }
        name
    }
}

/// The value of a later field; `None` where it is absent.
///
/// ```
/// use blockmill_rlp::ethereum::{Header, LaterValue};
///
/// let header = Header { blob_gas_used: Some(131_072), ..Header::default() };
/// for (field, value) in Header::LATER.iter().zip(header.later()) {
///     let expected = (field.name == "blob_gas_used").then_some(131_072);
///     if let LaterValue::Number(value) = value {
///         assert_eq!(value, expected, "{}", field.name);
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaterValue<'a> {
    /// A number of 256 bits.
    Wei(Option<U256>),
    /// A number of 64 bits.
    Number(Option<u64>),
    /// A hash or a root.
    Hash(Option<&'a [u8; 32]>),
}

/// Gives later fields of a header new values, for [`OwnedHeader::edit_later`], which calls the
/// method of each field's kind with the present value.
///
/// [`OwnedHeader::edit_later`]: super::OwnedHeader::edit_later
///
/// ```
/// use blockmill_rlp::U256;
/// use blockmill_rlp::ethereum::{EditLater, LaterField, OwnedHeader};
/// use std::convert::Infallible;
///
/// /// Removes all later fields.
/// struct Remove;
///
/// impl EditLater for Remove {
///     type Error = Infallible;
///
///     fn wei(&mut self, _: &LaterField, _: Option<U256>) -> Result<Option<U256>, Infallible> {
///         Ok(None)
///     }
///
///     fn number(&mut self, _: &LaterField, _: Option<u64>) -> Result<Option<u64>, Infallible> {
///         Ok(None)
///     }
///
///     fn hash(
///         &mut self,
///         _: &LaterField,
///         _: Option<[u8; 32]>,
///     ) -> Result<Option<[u8; 32]>, Infallible> {
///         Ok(None)
///     }
/// }
///
/// let mut header = OwnedHeader { blob_gas_used: Some(0), ..OwnedHeader::default() };
/// let Ok(()) = header.edit_later(&mut Remove);
/// assert_eq!(header, OwnedHeader::default());
/// ```
pub trait EditLater {
    /// Why a field has no value that it could be given.
    type Error;

    /// The new value of a number of 256 bits.
    ///
    /// # Errors
    /// No value can be given.
    fn wei(&mut self, field: &LaterField, value: Option<U256>)
    -> Result<Option<U256>, Self::Error>;

    /// The new value of a number of 64 bits.
    ///
    /// # Errors
    /// No value can be given.
    fn number(
        &mut self,
        field: &LaterField,
        value: Option<u64>,
    ) -> Result<Option<u64>, Self::Error>;

    /// The new value of a hash.
    ///
    /// # Errors
    /// No value can be given.
    fn hash(
        &mut self,
        field: &LaterField,
        value: Option<[u8; 32]>,
    ) -> Result<Option<[u8; 32]>, Self::Error>;
}

#[cfg(test)]
mod tests {
    use super::super::Header;

    #[test]
    fn the_rpc_writes_names_in_camel_case() {
        let names = ["baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas"];
        for (field, name) in Header::LATER.iter().zip(names) {
            assert_eq!(field.rpc_name(), name);
        }
        let indexes = Header::LATER.iter().map(|field| field.index);
        assert!(indexes.eq(0..Header::LATER.len()));
    }
}
