//! A struct that is encoded, decoded and hashed: `cargo run --features derive --example derive`.

use blockmill_rlp::{Decode, Encode, Error};

#[derive(Debug, PartialEq, Encode, Decode)]
struct Withdrawal {
    index: u64,
    validator: u64,
    address: [u8; 20],
    amount: u64,
}

#[derive(Debug, PartialEq, Encode, Decode)]
struct Block<'a> {
    miner: &'a str,
    withdrawals: Vec<Withdrawal>,
    /// Appended by a later fork: absent in older blocks.
    slot: Option<u64>,
}

fn main() -> Result<(), Error> {
    let withdrawal = Withdrawal { index: 1, validator: 2, address: [3; 20], amount: 4 };
    let block = Block { miner: "somebody", withdrawals: vec![withdrawal], slot: Some(5) };
    let bytes = block.encode();
    println!("{} bytes, hash {:02x?}", bytes.len(), &block.hash()[..4]);
    assert_eq!(Block::decode(&bytes)?, block);
    println!("{}", Block::decode(&bytes[..9]).unwrap_err());
    Ok(())
}
