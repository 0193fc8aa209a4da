//! The first blocks, put together from what differs between them.

use crate::BlockHash;
use crate::params::COIN;

/// What the first block of a network consists of.
pub(super) struct Genesis {
    /// The text in its coinbase.
    pub text: &'static [u8],
    /// The public key that it pays to, never spendable.
    pub key: &'static [u8],
    pub time: u32,
    pub bits: u32,
    pub nonce: u32,
}

/// The text of most networks.
pub(super) const TIMES: &[u8] =
    b"The Times 03/Jan/2009 Chancellor on brink of second bailout for banks";

/// The key of most networks.
pub(super) const SATOSHI: &[u8] = &[
    0x04, 0x67, 0x8a, 0xfd, 0xb0, 0xfe, 0x55, 0x48, 0x27, 0x19, 0x67, 0xf1, 0xa6, 0x71, 0x30, 0xb7,
    0x10, 0x5c, 0xd6, 0xa8, 0x28, 0xe0, 0x39, 0x09, 0xa6, 0x79, 0x62, 0xe0, 0xea, 0x1f, 0x61, 0xde,
    0xb6, 0x49, 0xf6, 0xbc, 0x3f, 0x4c, 0xef, 0x38, 0xc4, 0xf3, 0x55, 0x04, 0xe5, 0x1e, 0xc1, 0x12,
    0xde, 0x5c, 0x38, 0x4d, 0xf7, 0xba, 0x0b, 0x8d, 0x57, 0x8a, 0x4c, 0x70, 0x2b, 0x6b, 0xf1, 0x1d,
    0x5f,
];

/// Pushes of up to this many bytes have their length as opcode.
const MAX_DIRECT_PUSH: usize = 75;
const OP_PUSHDATA1: u8 = 0x4c;
const OP_CHECKSIG: u8 = 0xac;

impl Genesis {
    /// The block's bytes and its hash.
    pub fn build(&self) -> (Vec<u8>, BlockHash) {
        let coinbase = self.coinbase();
        let mut block = Vec::with_capacity(81 + coinbase.len());
        block.extend(1_i32.to_le_bytes());
        block.extend([0; 32]);
        // one transaction: its id is the root
        block.extend(blockmill_hashes::sha256d(&coinbase));
        for number in [self.time, self.bits, self.nonce] {
            block.extend(number.to_le_bytes());
        }
        let hash = BlockHash(blockmill_hashes::sha256d(&block));
        block.push(1);
        block.extend(coinbase);
        (block, hash)
    }

    fn coinbase(&self) -> Vec<u8> {
        let mut input = Vec::new();
        push(&mut input, &0x1d00_ffff_u32.to_le_bytes());
        push(&mut input, &[4]);
        push(&mut input, self.text);
        let mut output = Vec::new();
        push(&mut output, self.key);
        output.push(OP_CHECKSIG);

        let mut bytes = Vec::new();
        bytes.extend(1_i32.to_le_bytes());
        bytes.push(1);
        bytes.extend([0; 32]);
        bytes.extend(u32::MAX.to_le_bytes());
        // both scripts are shorter than 253 bytes
        bytes.push(input.len() as u8);
        bytes.extend(input);
        bytes.extend(u32::MAX.to_le_bytes());
        bytes.push(1);
        bytes.extend((50 * COIN).to_le_bytes());
        bytes.push(output.len() as u8);
        bytes.extend(output);
        bytes.extend(0_u32.to_le_bytes());
        bytes
    }
}

fn push(script: &mut Vec<u8>, data: &[u8]) {
    if data.len() > MAX_DIRECT_PUSH {
        script.push(OP_PUSHDATA1);
    }
    script.push(data.len() as u8);
    script.extend(data);
}
