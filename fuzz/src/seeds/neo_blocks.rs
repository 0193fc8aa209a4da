//! Good inputs of Neo: first blocks, and transactions with everything that one can have.

use blockmill_archive::acc::Head;
use blockmill_neo::params::Protocol;
use blockmill_neo::types::write;

/// A point of P-256: the first key of the main network's committee.
fn key() -> Vec<u8> {
    mainnet().standby_committee[0].to_vec()
}

fn mainnet() -> Protocol {
    Protocol::by_name("mainnet").expect("a built-in network")
}

/// A transaction with these signers (bytes of each), attributes and as many witnesses.
fn transaction(signers: &[Vec<u8>], attributes: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![0, 1, 2, 3, 4];
    out.extend(1_000_000_i64.to_le_bytes());
    out.extend(2_000_000_i64.to_le_bytes());
    out.extend(500_u32.to_le_bytes());
    write::number(&mut out, signers.len() as u64);
    signers.iter().for_each(|signer| out.extend(signer));
    write::number(&mut out, attributes.len() as u64);
    attributes.iter().for_each(|attribute| out.extend(attribute));
    write::string(&mut out, &[0x11, 0x40]);
    write::number(&mut out, signers.len() as u64);
    for _ in signers {
        write::string(&mut out, &[&[0x0c, 64][..], &[7; 64]].concat());
        let script = [&[0x0c, 33][..], &key(), &[0x41, 0x56, 0xe7, 0xb3, 0x27]].concat();
        write::string(&mut out, &script);
    }
    out
}

fn signer(account: u8, scopes: u8, rest: &[u8]) -> Vec<u8> {
    [&[account; 20][..], &[scopes], rest].concat()
}

pub fn transactions() -> Vec<Vec<u8>> {
    let key = key();
    let contracts = [&[2][..], &[1; 20], &[2; 20]].concat();
    let groups = [&[1][..], &key].concat();
    let not_and = [&[1, 0x01, 0x02, 2, 0x20, 0x18][..], &[5; 20]].concat();
    let or = [&[0, 0x03, 3, 0x00, 1, 0x28][..], &[6; 20], &[0x29], &key].concat();
    let rules = [&[2][..], &not_and, &or].concat();
    let all = [&contracts[..], &groups, &rules].concat();
    let conflicts = |byte| [&[0x21][..], &[byte; 32]].concat();
    let oracle = [&[0x11][..], &7_u64.to_le_bytes(), &[0, 3, 1, 2, 3]].concat();
    vec![
        transaction(&[signer(1, 0x80, &[])], &[]),
        transaction(&[signer(1, 0x01, &[]), signer(2, 0, &[])], &[vec![0x01], conflicts(1)]),
        transaction(
            &[signer(1, 0x10, &contracts), signer(2, 0x20, &groups), signer(3, 0x40, &rules)],
            &[vec![0x20, 9, 0, 0, 0], conflicts(1), conflicts(2), vec![0x22, 3], oracle],
        ),
        transaction(&[signer(1, 0x71, &all)], &[vec![0xe5, 2, 8, 9]]),
    ]
}

/// A flag for state roots, and a block.
pub fn blocks() -> Vec<Vec<u8>> {
    let with_root = Protocol { state_root_in_header: true, ..mainnet() };
    let mut full = mainnet().genesis_block();
    full.pop();
    write::number(&mut full, transactions().len() as u64);
    transactions().iter().for_each(|transaction| full.extend(transaction));
    vec![
        [vec![0], mainnet().genesis_block()].concat(),
        [vec![1], with_root.genesis_block()].concat(),
        [vec![0], full].concat(),
    ]
}

/// Whole and incremental dumps.
pub fn dumps() -> Vec<Vec<u8>> {
    let block = |height: u32| {
        let mut block = mainnet().genesis_block();
        block[84..88].copy_from_slice(&height.to_le_bytes());
        block
    };
    let dump = |first: u32, incremental| {
        let mut out = Head { first, count: 3, incremental }.bytes();
        for block in (first..first + 3).map(block) {
            out.extend((block.len() as u32).to_le_bytes());
            out.extend(block);
        }
        out
    };
    vec![dump(0, false), dump(0, true), dump(70_000, true)]
}
