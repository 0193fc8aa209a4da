//! Attributes of transactions (`transaction/attribute.go`).

use super::{Error, Reader, UInt256};
use blockmill_verdict::Span;

/// Length limit of an oracle response (`transaction.MaxOracleResultSize`).
pub const MAX_ORACLE_RESULT: u64 = 0xffff;
/// Length limit of a reserved attribute (`io.MaxArraySize`; a transaction is shorter).
const MAX_RESERVED: u64 = 0x100_0000;
/// The codes of oracle responses (`transaction.OracleResponseCode`), success first.
const ORACLE_CODES: [u8; 10] = [0, 0x10, 0x12, 0x14, 0x16, 0x18, 0x1a, 0x1c, 0x1f, 0xff];

/// A parsed attribute: its fields and spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeParts {
    /// High priority, for the committee.
    HighPriority,
    /// The response of the oracle nodes to a request.
    OracleResponse {
        /// The id of the request.
        id: u64,
        /// 0 for success.
        code: u8,
        /// The result; empty unless the code is 0.
        result: Span,
    },
    /// Not valid in a block below this height.
    NotValidBefore(u32),
    /// Conflicts with this transaction: the chain may contain one of the two.
    Conflicts(UInt256),
    /// Notary-assisted: the number of keys that sign.
    NotaryAssisted(u8),
    /// Of a type from 0xe0 to 0xff, for private networks (`ReservedAttributes`).
    Reserved {
        /// Its type.
        kind: u8,
        /// Its value.
        value: Span,
    },
}

impl AttributeParts {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let at = reader.position();
        Ok(match reader.byte()? {
            0x01 => Self::HighPriority,
            0x11 => Self::oracle_response(reader)?,
            0x20 => Self::NotValidBefore(reader.u32()?),
            0x21 => Self::Conflicts(UInt256(*reader.array()?)),
            0x22 => Self::NotaryAssisted(reader.byte()?),
            kind @ 0xe0.. => {
                Self::Reserved { kind, value: reader.string("reserved attribute", MAX_RESERVED)? }
            }
            other => {
                let expected = "1, 0x11, 0x20, 0x21, 0x22 or 0xe0 and more";
                let what = "type of an attribute";
                return Err(Error::Field { at, what, expected, found: other.into() });
            }
        })
    }

    fn oracle_response(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let id = reader.u64()?;
        let at = reader.position();
        let code = reader.byte()?;
        if !ORACLE_CODES.contains(&code) {
            let expected = "a known code";
            let what = "code of an oracle response";
            return Err(Error::Field { at, what, expected, found: code.into() });
        }
        let result = reader.string("oracle response", MAX_ORACLE_RESULT)?;
        if code != 0 && !result.is_empty() {
            let expected = "no result with a code other than 0";
            let found = result.len() as u64;
            return Err(Error::Field { at, what: "oracle response", expected, found });
        }
        Ok(Self::OracleResponse { id, code, result })
    }

    /// The number of its type (`transaction.AttrType`).
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::HighPriority => 0x01,
            Self::OracleResponse { .. } => 0x11,
            Self::NotValidBefore(_) => 0x20,
            Self::Conflicts(_) => 0x21,
            Self::NotaryAssisted(_) => 0x22,
            Self::Reserved { kind, .. } => *kind,
        }
    }

    /// Reports whether a transaction may have several attributes of this type.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        matches!(self, Self::Conflicts(_))
    }
}

/// An attribute of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// As [`AttributeParts::HighPriority`].
    HighPriority,
    /// As [`AttributeParts::OracleResponse`].
    OracleResponse {
        /// The id of the request.
        id: u64,
        /// 0 for success.
        code: u8,
        /// The result.
        result: &'a [u8],
    },
    /// As [`AttributeParts::NotValidBefore`].
    NotValidBefore(u32),
    /// As [`AttributeParts::Conflicts`].
    Conflicts(UInt256),
    /// As [`AttributeParts::NotaryAssisted`].
    NotaryAssisted(u8),
    /// As [`AttributeParts::Reserved`].
    Reserved {
        /// Its type.
        kind: u8,
        /// Its value.
        value: &'a [u8],
    },
}

impl<'a> Attribute<'a> {
    pub(super) fn new(raw: &'a [u8], parts: &AttributeParts) -> Self {
        match *parts {
            AttributeParts::HighPriority => Self::HighPriority,
            AttributeParts::OracleResponse { id, code, result } => {
                Self::OracleResponse { id, code, result: result.slice(raw) }
            }
            AttributeParts::NotValidBefore(height) => Self::NotValidBefore(height),
            AttributeParts::Conflicts(hash) => Self::Conflicts(hash),
            AttributeParts::NotaryAssisted(keys) => Self::NotaryAssisted(keys),
            AttributeParts::Reserved { kind, value } => {
                Self::Reserved { kind, value: value.slice(raw) }
            }
        }
    }
}
