//! Headers (`block/header.go`).

use super::witness::{Witness, WitnessParts};
use super::{Error, Reader, UInt160, UInt256};
use blockmill_verdict::Span;

/// A parsed header: its fields, and the span of its witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// 0.
    pub version: u32,
    /// The hash of the parent.
    pub previous: UInt256,
    /// The merkle root of the transactions' hashes; zero without transactions.
    pub merkle_root: UInt256,
    /// Milliseconds since 1970.
    pub timestamp: u64,
    /// A random number of the primary.
    pub nonce: u64,
    /// The height.
    pub index: u32,
    /// The index of the consensus node that proposed the block.
    pub primary: u8,
    /// The account that signs the next block.
    pub next_consensus: UInt160,
    /// The state root after the parent, in networks with state roots in headers.
    pub previous_state_root: Option<UInt256>,
    /// The hashed and signed bytes.
    pub signed: Span,
    /// The witness.
    pub witness: WitnessParts,
}

impl Header {
    /// Reads a header. `state_root`: whether headers have state roots; the encoding does not say
    /// it.
    ///
    /// # Errors
    /// Returns a decode error if the header is truncated or does not have exactly one witness.
    pub fn read(reader: &mut Reader<'_>, state_root: bool) -> Result<Self, Error> {
        let start = reader.position();
        let mut header = Self {
            version: reader.u32()?,
            previous: UInt256(*reader.array()?),
            merkle_root: UInt256(*reader.array()?),
            timestamp: reader.u64()?,
            nonce: reader.u64()?,
            index: reader.u32()?,
            primary: reader.byte()?,
            next_consensus: UInt160(*reader.array()?),
            ..Self::default()
        };
        if state_root {
            header.previous_state_root = Some(UInt256(*reader.array()?));
        }
        let at = reader.position();
        header.signed = Span { start, end: at };
        match reader.number()? {
            1 => {}
            found => {
                let what = "witnesses of a header";
                return Err(Error::Field { at, what, expected: "1", found });
            }
        }
        header.witness = WitnessParts::read(reader)?;
        Ok(header)
    }

    /// Writes the hashed and signed bytes.
    pub fn write_signed(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.version.to_le_bytes());
        into.extend_from_slice(&self.previous.0);
        into.extend_from_slice(&self.merkle_root.0);
        into.extend_from_slice(&self.timestamp.to_le_bytes());
        into.extend_from_slice(&self.nonce.to_le_bytes());
        into.extend_from_slice(&self.index.to_le_bytes());
        into.push(self.primary);
        into.extend_from_slice(&self.next_consensus.0);
        if let Some(root) = &self.previous_state_root {
            into.extend_from_slice(&root.0);
        }
    }

    /// Writes the whole header with this witness.
    pub fn write(&self, witness: Witness<'_>, into: &mut Vec<u8>) {
        self.write_signed(into);
        into.push(1);
        witness.write(into);
    }
}
