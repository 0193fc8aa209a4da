//! Everything that the chain spent, read from the undo files and held against the blocks.

use bitcoinkernel::ChainstateManager;
use bitcoinkernel::prelude::*;
use std::error::Error;

/// Reads block and undo data of every height from 1. Core checks each undo record's checksum; here
/// each transaction must have as many coins as inputs. The digest (FNV-1a, 64 bits) goes over
/// height (4 bytes), coinbase (1), value (8), length of the script (4) and script of every coin in
/// order, numbers in little endian.
pub fn read_all(core: &ChainstateManager) -> Result<String, Box<dyn Error>> {
    let chain = core.active_chain();
    let (mut coins, mut value, mut digest) = (0u64, 0i64, Fnv(0xcbf2_9ce4_8422_2325));
    for height in 1..=usize::try_from(chain.height())? {
        let entry = chain.at_height(height).ok_or("a hole in the chain")?;
        let (block, spent) = (core.read_block_data(&entry)?, core.read_spent_outputs(&entry)?);
        if spent.count() + 1 != block.transaction_count() {
            return Err(format!("height {height}: undo data of another block").into());
        }
        for (i, undo) in spent.iter().enumerate() {
            if undo.count() != block.transaction(i + 1)?.input_count() {
                return Err(format!("height {height}: transaction {} and its undo", i + 1).into());
            }
            for coin in undo.coins() {
                let output = coin.output();
                let script = output.script_pubkey().to_bytes();
                coins += 1;
                value += output.value();
                digest.add(&coin.confirmation_height().to_le_bytes());
                digest.add(&[u8::from(coin.is_coinbase())]);
                digest.add(&output.value().to_le_bytes());
                digest.add(&u32::try_from(script.len())?.to_le_bytes());
                digest.add(&script);
            }
        }
    }
    let digest = digest.0;
    Ok(format!("\"spent\":{{\"coins\":{coins},\"value\":{value},\"digest\":\"{digest:016x}\"}}"))
}

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
