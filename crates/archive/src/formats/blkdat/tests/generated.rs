//! Small blocks with the proof of work of a local test network, and random numbers.

use crate::blkdat::Network;
use blockmill_hashes::sha256d;
pub use blockmill_testkit::Random;

/// A chain of blocks of 150 to some thousand bytes, some with witnesses.
pub fn blocks(count: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let mut parent = [0; 32];
    let mut chain = vec![];
    for _ in 0..count {
        let mut block = mined(&parent, &mut random);
        parent = sha256d(&block);
        let transactions = 1 + random.below(4);
        block.push(transactions as u8);
        for _ in 0..transactions {
            transaction(&mut block, &mut random);
        }
        chain.push(block);
    }
    chain
}

/// A header whose hash is below half of all hashes.
fn mined(parent: &[u8; 32], random: &mut Random) -> Vec<u8> {
    let mut header = vec![4, 0, 0, 0];
    header.extend_from_slice(parent);
    header.extend(random.bytes(36));
    header.extend_from_slice(&0x207f_ffff_u32.to_le_bytes());
    header.extend_from_slice(&[0; 4]);
    for nonce in 0_u32.. {
        header[76..].copy_from_slice(&nonce.to_le_bytes());
        if Network::Regtest.is_proof_of_work(header.as_slice().try_into().unwrap()) {
            break;
        }
    }
    header
}

fn transaction(into: &mut Vec<u8>, random: &mut Random) {
    let (inputs, outputs) = (1 + random.below(3), 1 + random.below(3));
    let witness = random.below(2) == 0;
    into.extend_from_slice(&[2, 0, 0, 0]);
    if witness {
        into.extend_from_slice(&[0, 1]);
    }
    into.push(inputs as u8);
    for _ in 0..inputs {
        into.extend(random.bytes(36));
        script(into, random);
        into.extend_from_slice(&[0xff; 4]);
    }
    into.push(outputs as u8);
    for _ in 0..outputs {
        into.extend(random.bytes(8));
        script(into, random);
    }
    for _ in 0..if witness { inputs } else { 0 } {
        let items = random.below(3);
        into.push(items as u8);
        (0..items).for_each(|_| script(into, random));
    }
    into.extend_from_slice(&[0; 4]);
}

fn script(into: &mut Vec<u8>, random: &mut Random) {
    let length = if random.below(8) == 0 { 300 } else { random.below(120) };
    match u8::try_from(length) {
        Ok(short) => into.push(short),
        Err(_) => into.extend_from_slice(&[0xfd, length as u8, (length >> 8) as u8]),
    }
    into.extend(random.bytes(length));
}

/// The blocks in records, and the offset of each block.
pub fn records(blocks: &[Vec<u8>], magic: [u8; 4]) -> (Vec<u8>, Vec<usize>) {
    let (mut file, mut starts) = (vec![], vec![]);
    for block in blocks {
        file.extend_from_slice(&magic);
        file.extend_from_slice(&(block.len() as u32).to_le_bytes());
        starts.push(file.len());
        file.extend_from_slice(block);
    }
    (file, starts)
}
