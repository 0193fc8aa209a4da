//! Makes Core leave its chain and come back, on regtest, where anyone can mine.

use crate::accept;
use bitcoinkernel::prelude::*;
use bitcoinkernel::{Block, BlockHash, ChainstateManager, Transaction};
use std::error::Error;

/// Feeds a branch of empty blocks that leaves the chain `depth` blocks before the tip and becomes
/// the heavier one, then two blocks on the old tip.
///
/// Core disconnects `depth` blocks with their undo data, and connects them again afterwards: that
/// succeeds only if the undo data gave every coin back as it was.
pub fn there_and_back(core: &ChainstateManager, depth: usize) -> Result<(), Box<dyn Error>> {
    let chain = core.active_chain();
    let height = usize::try_from(chain.height())?;
    let fork = height.checked_sub(depth).ok_or("a deeper reorganisation than the chain")?;
    let parent = |height| chain.at_height(height).ok_or("a hole in the chain");
    let (old, fork_entry) = (parent(height)?, parent(fork)?);
    let old = (old.block_hash().to_bytes(), old.header().timestamp());
    let fork_block = (fork_entry.block_hash().to_bytes(), fork_entry.header().timestamp());

    let branch = grow(core, fork_block, fork, depth + 1, old.1)?;
    expect_tip(core, branch)?;
    let back = grow(core, old, height, 2, old.1)?;
    expect_tip(core, back)
}

/// Mines `count` blocks after a parent and hands them over; returns the hash of the last.
fn grow(
    core: &ChainstateManager,
    (mut parent, _): ([u8; 32], u32),
    height: usize,
    count: usize,
    after: u32,
) -> Result<[u8; 32], Box<dyn Error>> {
    for i in 1..=count {
        let block = mine(parent, u32::try_from(height + i)?, after + u32::try_from(i)?)?;
        accept(core, &block)?;
        parent = block.hash().to_bytes();
    }
    Ok(parent)
}

fn expect_tip(core: &ChainstateManager, hash: [u8; 32]) -> Result<(), Box<dyn Error>> {
    let tip = core.active_chain().tip();
    match tip.block_hash().to_bytes() == hash {
        true => Ok(()),
        false => {
            Err(format!("expected tip {}, found {}", BlockHash::from(hash), { tip.block_hash() })
                .into())
        }
    }
}

/// A block with nothing but a coinbase that claims nothing.
fn mine(parent: [u8; 32], height: u32, time: u32) -> Result<Block, Box<dyn Error>> {
    let mut coinbase = vec![1, 0, 0, 0, 1];
    coinbase.extend([0; 32]);
    coinbase.extend([0xff; 4]);
    // BIP34: the height as a script number; four bytes of it serve every height above 2^23 too, but
    // must be minimal
    let mut number = height.to_le_bytes().to_vec();
    while number.last() == Some(&0) {
        number.pop();
    }
    if number.last().is_some_and(|byte| byte & 0x80 != 0) {
        number.push(0);
    }
    let mut script = match height {
        0 => vec![0],
        1..=16 => vec![0x50 + u8::try_from(height)?],
        _ => [&[u8::try_from(number.len())?], &number[..]].concat(),
    };
    script.push(0);
    coinbase.push(u8::try_from(script.len())?);
    coinbase.extend(script);
    coinbase.extend([0xff; 4]);
    // one output of 0 satoshis to anyone, lock time 0
    coinbase.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x51, 0, 0, 0, 0]);
    let id = Transaction::new(&coinbase)?.txid().to_bytes();

    let mut raw = 0x2000_0000u32.to_le_bytes().to_vec();
    raw.extend(parent);
    raw.extend(id);
    raw.extend(time.to_le_bytes());
    raw.extend(0x207f_ffffu32.to_le_bytes());
    raw.extend([0; 4]);
    raw.push(1);
    raw.extend(coinbase);
    for nonce in 0u32.. {
        raw[76..80].copy_from_slice(&nonce.to_le_bytes());
        let block = Block::new(&raw)?;
        // regtest's target is half of all numbers
        if block.hash().to_bytes()[31] < 0x80 {
            return Ok(block);
        }
    }
    Err("no nonce fits".into())
}
