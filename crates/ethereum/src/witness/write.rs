//! Writes witnesses: in the shape of this program, and in those of other clients, which leave out
//! the block.

use super::{Stateless, Witness};
use blockmill_archive::Column;
use blockmill_rlp::{Encode, Write};
use blockmill_verdict::Hex;
use serde_json::{Value, json};

/// Bytes as text.
fn texts<'a>(items: impl Iterator<Item = &'a [u8]>) -> Value {
    items.map(|item| Value::from(Hex(item).to_string())).collect()
}

impl Witness {
    /// The JSON of a file; `done` is the result of executing the witness.
    #[must_use]
    pub fn to_json(&self, done: &Stateless) -> Value {
        json!({
            "chainId": self.chain_id,
            "number": done.number,
            "hash": Hex(&done.hash).to_string(),
            "block": Hex(&self.block).to_string(),
            "witness": self.to_debug_json(),
        })
    }

    /// The result of `debug_executionWitness` for its block. Nodes and codes are sorted by hash;
    /// keys, which are not needed, are left out.
    #[must_use]
    pub fn to_debug_json(&self) -> Value {
        let (nodes, codes) = self.parts.columns();
        json!({
            "state": texts(nodes.iter()),
            "codes": texts(codes.iter()),
            "keys": [],
            "headers": texts(self.parts.headers.iter().map(Vec::as_slice)),
        })
    }

    /// The witness as go-ethereum encodes it (`stateless.ExtWitness`): headers, codes, nodes, keys.
    #[must_use]
    pub fn to_rlp(&self) -> Vec<u8> {
        let (nodes, codes) = self.parts.columns();
        Lists { headers: &self.parts.headers, codes, nodes }.encode()
    }

    /// The encoded block.
    #[must_use]
    pub fn block(&self) -> &[u8] {
        &self.block
    }
}

/// The lists of a witness.
struct Lists<'a> {
    headers: &'a [Vec<u8>],
    codes: &'a Column,
    nodes: &'a Column,
}

impl Encode for Lists<'_> {
    const LISTS: usize = 5;

    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            out.list(|out| self.headers.iter().for_each(|header| out.raw(header)));
            for column in [self.codes, self.nodes] {
                out.list(|out| column.iter().for_each(|item| out.bytes(item)));
            }
            out.list(|_| {});
        });
    }
}

/// A block, composed of its header and the items of its body.
pub(super) struct Joined<'a> {
    pub header: &'a [u8],
    pub items: &'a [u8],
}

impl Encode for Joined<'_> {
    const LISTS: usize = 1;

    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            out.raw(self.header);
            out.raw(self.items);
        });
    }
}
