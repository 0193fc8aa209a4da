//! Parsed transactions, and the view of one (`transaction/transaction.go`).

use super::attribute::{Attribute, AttributeParts};
use super::signer::{Signer, SignerParts};
use super::witness::{Witness, WitnessParts};
use super::{Error, Reader, UInt160, UInt256};
use blockmill_hashes::sha256;
use blockmill_verdict::Span;
use std::ops::Range;

/// Size limit of a transaction, in bytes.
pub const MAX_TRANSACTION_SIZE: usize = 102_400;
/// Limit of signers and attributes together.
pub const MAX_ATTRIBUTES: u64 = 16;
/// Length limit of a script.
pub const MAX_SCRIPT: u64 = 0xffff;

/// A parsed transaction: its fields and spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionParts {
    /// The whole transaction.
    pub span: Span,
    /// The hashed and signed bytes: all but the witnesses.
    pub signed: Span,
    /// A random number that makes hashes unique.
    pub nonce: u32,
    /// The fee for execution in units of 10^-8 GAS; burnt.
    pub system_fee: i64,
    /// The fee for size and verification in units of 10^-8 GAS; paid to the consensus nodes.
    pub network_fee: i64,
    /// The last height at which it is valid.
    pub valid_until_block: u32,
    /// The script.
    pub script: Span,
    signers: Range<u32>,
    attributes: Range<u32>,
    witnesses: Range<u32>,
}

/// Parsed transactions. The lists are reused from block to block.
#[derive(Clone, Debug, Default)]
pub struct Transactions {
    list: Vec<TransactionParts>,
    signers: Vec<SignerParts>,
    attributes: Vec<AttributeParts>,
    witnesses: Vec<WitnessParts>,
    /// The hash of each transaction, once hashed.
    hashes: Vec<UInt256>,
    /// The hash of each script, if they were hashed with the transactions.
    script_hashes: Vec<UInt160>,
}

impl Transactions {
    /// The number of transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Reports whether there are no transactions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Removes all transactions.
    pub fn clear(&mut self) {
        self.list.clear();
        self.signers.clear();
        self.attributes.clear();
        self.witnesses.clear();
        self.hashes.clear();
        self.script_hashes.clear();
    }

    /// The fields and spans of each transaction.
    #[must_use]
    pub fn parts(&self) -> &[TransactionParts] {
        &self.list
    }

    /// The hash of each transaction.
    #[must_use]
    pub fn hashes(&self) -> &[UInt256] {
        &self.hashes
    }

    /// The view of transaction `index` over the bytes `raw`.
    ///
    /// # Panics
    /// If there are fewer transactions, or they are not hashed.
    #[must_use]
    pub fn get<'a>(&'a self, raw: &'a [u8], index: usize) -> Transaction<'a> {
        let script_hash = self.script_hashes.get(index);
        let (parts, hash) = (&self.list[index], &self.hashes[index]);
        Transaction { raw, lists: self, parts, hash, script_hash }
    }

    /// The hashed bytes of each transaction.
    pub(super) fn signed<'a>(&self, raw: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.list.iter().map(|each| each.signed.slice(raw))
    }

    /// The script of each transaction.
    pub(super) fn scripts<'a>(&self, raw: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.list.iter().map(|each| each.script.slice(raw))
    }

    /// Sets the script hashes from the SHA-256 digests of [`Transactions::scripts`].
    pub(super) fn set_script_hashes(&mut self, digests: &[[u8; 32]]) {
        self.script_hashes.clear();
        self.script_hashes.extend(digests.iter().map(UInt160::of_digest));
    }

    /// Sets the hashes of [`Transactions::signed`].
    pub(super) fn set_hashes(&mut self, hashes: &[[u8; 32]]) {
        self.hashes.clear();
        self.hashes.extend(hashes.iter().copied().map(UInt256));
    }

    /// Reads and adds a transaction.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        let start = reader.position();
        let mut parts = read_fixed(reader)?;
        parts.signers = self.read_signers(reader)?;
        parts.attributes = self.read_attributes(reader, parts.signers.len())?;
        let at = reader.position();
        parts.script = reader.string("script", MAX_SCRIPT)?;
        if parts.script.is_empty() {
            let expected = "1 byte or more";
            return Err(Error::Field { at, what: "script", expected, found: 0 });
        }
        parts.signed = Span { start, end: reader.position() };
        let at = reader.position();
        let count = reader.count("witnesses", MAX_ATTRIBUTES)?;
        if count != parts.signers.len() {
            let expected = "as many as signers";
            return Err(Error::Field { at, what: "witnesses", expected, found: count as u64 });
        }
        let first = self.witnesses.len() as u32;
        for _ in 0..count {
            self.witnesses.push(WitnessParts::read(reader)?);
        }
        parts.witnesses = first..self.witnesses.len() as u32;
        parts.span = Span { start, end: reader.position() };
        self.list.push(parts);
        Ok(())
    }

    fn read_signers(&mut self, reader: &mut Reader<'_>) -> Result<Range<u32>, Error> {
        let at = reader.position();
        let count = reader.count("signers", MAX_ATTRIBUTES)?;
        if count == 0 {
            let expected = "1 or more";
            return Err(Error::Field { at, what: "signers", expected, found: 0 });
        }
        let first = self.signers.len();
        for _ in 0..count {
            let at = reader.position();
            let signer = SignerParts::read(reader)?;
            if self.signers[first..].iter().any(|other| other.account == signer.account) {
                let found = signer.account.address().to_string();
                return Err(Error::Repeated { at, what: "signers", found });
            }
            self.signers.push(signer);
        }
        Ok(first as u32..self.signers.len() as u32)
    }

    fn read_attributes(
        &mut self,
        reader: &mut Reader<'_>,
        signers: usize,
    ) -> Result<Range<u32>, Error> {
        let count = reader.count("attributes", MAX_ATTRIBUTES - signers as u64)?;
        let first = self.attributes.len();
        for _ in 0..count {
            let at = reader.position();
            let attribute = AttributeParts::read(reader)?;
            let same = |other: &AttributeParts| other.kind() == attribute.kind();
            if !attribute.may_repeat() && self.attributes[first..].iter().any(same) {
                let found = format!("type {:#04x}", attribute.kind());
                return Err(Error::Repeated { at, what: "attributes", found });
            }
            self.attributes.push(attribute);
        }
        Ok(first as u32..self.attributes.len() as u32)
    }
}

/// Version, nonce, fees and height (`decodeHashableFields`, `isValid`).
fn read_fixed(reader: &mut Reader<'_>) -> Result<TransactionParts, Error> {
    let at = reader.position();
    let version = reader.byte()?;
    if version != 0 {
        let what = "version of a transaction";
        return Err(Error::Field { at, what, expected: "0", found: version.into() });
    }
    let nonce = reader.u32()?;
    let at = reader.position();
    let (system_fee, network_fee) = (reader.u64()? as i64, reader.u64()? as i64);
    for (what, fee) in [("system fee", system_fee), ("network fee", network_fee)] {
        if fee < 0 {
            let expected = "no negative number";
            return Err(Error::Field { at, what, expected, found: fee as u64 });
        }
    }
    if system_fee.checked_add(network_fee).is_none() {
        let found = system_fee as u64 + network_fee as u64;
        return Err(Error::Field { at, what: "both fees", expected: "less than 2^63", found });
    }
    let valid_until_block = reader.u32()?;
    Ok(TransactionParts { nonce, system_fee, network_fee, valid_until_block, ..<_>::default() })
}

/// A view of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    raw: &'a [u8],
    lists: &'a Transactions,
    parts: &'a TransactionParts,
    hash: &'a UInt256,
    script_hash: Option<&'a UInt160>,
}

fn slice<'a, T>(list: &'a [T], range: &Range<u32>) -> &'a [T] {
    &list[range.start as usize..range.end as usize]
}

impl<'a> Transaction<'a> {
    /// SHA-256 of all but the witnesses.
    #[must_use]
    pub fn hash(self) -> UInt256 {
        *self.hash
    }

    /// Its fields of fixed length.
    #[must_use]
    pub fn fields(self) -> &'a TransactionParts {
        self.parts
    }

    /// Its encoding.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.parts.span.slice(self.raw)
    }

    /// The bytes that are hashed and signed.
    #[must_use]
    pub fn signed_bytes(self) -> &'a [u8] {
        self.parts.signed.slice(self.raw)
    }

    /// Bytes of its encoding.
    #[must_use]
    pub fn size(self) -> usize {
        self.parts.span.len()
    }

    /// The script.
    #[must_use]
    pub fn script(self) -> &'a [u8] {
        self.parts.script.slice(self.raw)
    }

    /// The hash of the script.
    #[must_use]
    pub fn script_hash(self) -> UInt160 {
        self.script_hash.copied().unwrap_or_else(|| UInt160::of_script(self.script()))
    }

    /// The sender, who pays: the first signer.
    #[must_use]
    pub fn sender(self) -> UInt160 {
        self.signer_parts()[0].account
    }

    fn signer_parts(self) -> &'a [SignerParts] {
        slice(&self.lists.signers, &self.parts.signers)
    }

    /// The signers in order; at least one.
    pub fn signers(self) -> impl ExactSizeIterator<Item = Signer<'a>> + use<'a> {
        let raw = self.raw;
        self.signer_parts().iter().map(move |parts| Signer { raw, parts })
    }

    /// The attributes in order.
    pub fn attributes(self) -> impl ExactSizeIterator<Item = Attribute<'a>> + use<'a> {
        let raw = self.raw;
        let parts = slice(&self.lists.attributes, &self.parts.attributes);
        parts.iter().map(move |parts| Attribute::new(raw, parts))
    }

    /// The witnesses, one for each signer in their order.
    pub fn witnesses(self) -> impl ExactSizeIterator<Item = Witness<'a>> + use<'a> {
        let raw = self.raw;
        let parts = slice(&self.lists.witnesses, &self.parts.witnesses);
        parts.iter().map(move |parts| Witness::new(raw, parts))
    }
}

/// A transaction outside of a block.
#[derive(Clone, Debug)]
pub struct SingleTransaction {
    raw: Vec<u8>,
    lists: Transactions,
}

impl SingleTransaction {
    /// Parses and hashes the transaction in `raw`.
    ///
    /// # Errors
    /// Returns a decode error if `raw` is not exactly one transaction.
    pub fn decode(raw: Vec<u8>) -> Result<Self, Error> {
        if raw.len() > MAX_TRANSACTION_SIZE {
            return Err(Error::TooLong { expected: MAX_TRANSACTION_SIZE, found: raw.len() });
        }
        let mut reader = Reader::new(&raw);
        let mut lists = Transactions::default();
        lists.read(&mut reader)?;
        reader.end()?;
        lists.hashes.push(UInt256(sha256(lists.list[0].signed.slice(&raw))));
        Ok(Self { raw, lists })
    }

    /// The transaction.
    #[must_use]
    pub fn get(&self) -> Transaction<'_> {
        self.lists.get(&self.raw, 0)
    }
}
