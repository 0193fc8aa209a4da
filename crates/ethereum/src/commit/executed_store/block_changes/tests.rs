//! Records and the bytes that they are.

use super::*;
use blockmill_testkit::Random;

fn word(random: &mut Random) -> U256 {
    U256::from(random.below(1u64 << 40)) << (random.below(27u64) as usize * 8)
}

fn account(random: &mut Random) -> Option<Account> {
    let code_hash = if random.below(2u64) == 0 { EMPTY_CODE } else { [7; 32] };
    let nonce = {
        let bits = 1 + random.below(60u64);
        random.below(1u64 << bits)
    };
    (random.below(4u64) > 0).then(|| Account { nonce, balance: word(random), code_hash })
}

fn made(random: &mut Random) -> BlockChanges {
    let mut accounts = vec![];
    for n in 0..random.below(5u64) {
        let mut slots = vec![];
        for n in 0..random.below(4u64) {
            let (slot, before, after) = (U256::from(n), word(random), word(random));
            slots.push(SlotRecord { slot, before, after });
        }
        let (before, after) = (account(random), account(random));
        let cleared = (random.below(3u64) == 0)
            .then(|| (0..random.below(3u64)).map(|n| ([n as u8; 32], word(random))).collect());
        accounts.push(AccountRecord { address: [n as u8; 20], before, after, slots, cleared });
    }
    let mut codes = vec![];
    for n in 0..random.below(3u64) {
        codes.push(vec![n as u8; 1 + random.below(300u64) as usize]);
    }
    BlockChanges { number: random.below(1u64 << 50), has_old: true, accounts, codes }
}

#[test]
fn records_are_read_as_they_were_written_and_no_cut_one_is_one() {
    let mut random = Random::new(8);
    for _ in 0..300 {
        let block = made(&mut random);
        let mut bytes = vec![];
        block.encode(true, &mut bytes);
        assert_eq!(BlockChanges::decode(&bytes).as_ref(), Ok(&block));
        for len in 0..bytes.len() {
            assert!(BlockChanges::decode(&bytes[..len]).is_err());
        }
        let mut forward = vec![];
        block.encode(false, &mut forward);
        let read = BlockChanges::decode(&forward).unwrap();
        assert!(!read.has_old && read.accounts.iter().all(|a| a.before.is_none()));
        let afters = |b: &BlockChanges| b.accounts.iter().map(|a| a.after).collect::<Vec<_>>();
        assert_eq!(afters(&read), afters(&block));
        // any bytes are refused or are a record, and never more
        for _ in 0..40 {
            let mut other = bytes.clone();
            let at = random.below(other.len() as u64) as usize;
            other[at] ^= 1 << random.below(8u64);
            if let Ok(read) = BlockChanges::decode(&other) {
                let mut again = vec![];
                read.encode(read.has_old, &mut again);
                assert_eq!(again, other);
            }
        }
    }
}
