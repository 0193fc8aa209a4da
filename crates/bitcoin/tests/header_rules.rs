//! Header rules: difficulty schedules, times, versions.

use crate::generated_headers;
use crate::generated_headers::{Random, easy, found, mine};
use blockmill_bitcoin::header::rules::{
    Parent, Violation, median, next_bits, real_bits, verify_header, verify_not_in_future,
    verify_version, verify_work,
};
use blockmill_bitcoin::header::{Header, compact, target};
use blockmill_bitcoin::index::{RefusalReason, Tree};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;
use ruint::aliases::U256;

fn parent(height: u32, time: u32, bits: u32) -> Parent {
    Parent {
        height,
        time,
        bits,
        median_time: time,
        real_bits: bits,
        first_time: time,
        first_bits: bits,
    }
}

#[test]
fn retargets_are_those_of_the_main_network() {
    // height and time of a period's last block, its bits, time of its first block, next bits;
    // facts of Core's pow_tests
    let known = [
        (32_255, 1_262_152_739, 0x1d00_ffff, 1_261_130_161, 0x1d00_d86a),
        (2_015, 1_233_061_996, 0x1d00_ffff, 1_231_006_505, 0x1d00_ffff),
        (68_543, 1_279_297_671, 0x1c05_a3f4, 1_279_008_237, 0x1c01_68fd),
        (46_367, 1_269_211_443, 0x1c38_7f6f, 1_263_163_443, 0x1d00_e1fd),
    ];
    let params = Params::mainnet();
    for (height, time, bits, first_time, next) in known {
        let last = Parent { first_time, ..parent(height, time, bits) };
        assert_eq!(next_bits(&params, &last, time + 600), Ok(next), "{height}");
        // one block earlier nothing changes, however long it takes
        let before = Parent { height: height - 1, ..last };
        assert_eq!(next_bits(&params, &before, time + 1_000_000), Ok(bits), "{height}");
    }
}

#[test]
fn proof_of_work_refuses_bad_targets_and_high_hashes() {
    let params = Params::mainnet();
    let one = BlockHash(U256::ONE.to_le_bytes());
    let limit = params.limit_bits();
    let wrong = |found| Err(Violation::Target { limit, found });
    let negative = limit | 0x0080_0000;
    let too_easy = compact(params.pow_limit << 1_usize);
    for bits in [negative, !0x0080_0000, too_easy, 0, 0x1d80_ffff, 0x1d01_0000] {
        assert_eq!(verify_work(&params, bits, &one), wrong(bits), "{bits:08x}");
    }
    assert_eq!(verify_work(&params, limit, &one), Ok(()));
    let highest = target(limit).unwrap();
    let at = BlockHash(highest.to_le_bytes());
    let above = BlockHash((highest + U256::ONE).to_le_bytes());
    assert_eq!(verify_work(&params, limit, &at), Ok(()));
    let high = Violation::Work { bits: limit, found: above };
    assert_eq!(verify_work(&params, limit, &above), Err(high));
    let text = "proof of work: expected a hash up to \
                00000000ffff0000000000000000000000000000000000000000000000000000, the target \
                1d00ffff, found 00000000ffff00";
    assert!(high.to_string().starts_with(text), "{high}");
}

#[test]
fn late_blocks_of_test_networks_have_the_lowest_difficulty() {
    let params = Params::testnet3();
    let last = Parent { real_bits: 0x1b01_0203, ..parent(4_000, 10_000_000, 0x1d00_ffff) };
    assert_eq!(next_bits(&params, &last, 10_001_200), Ok(0x1b01_0203));
    assert_eq!(next_bits(&params, &last, 10_001_201), Ok(0x1d00_ffff));
    assert_eq!(next_bits(&params, &last, 9_000_000), Ok(0x1b01_0203));
    // a late block may also begin a period: then the schedule holds, from the bits of the last one
    let end = Parent { height: 4_031, first_time: 10_000_000 - 1_209_600, ..last };
    assert_eq!(next_bits(&params, &end, 20_000_000), Ok(0x1d00_ffff));
    let end = Parent { bits: 0x1b01_0203, ..end };
    assert_eq!(next_bits(&params, &end, 20_000_000), Ok(0x1b01_0203));
    // what the exception hides
    assert_eq!(real_bits(&params, 4_001, 0x1d00_ffff, 5), 5);
    assert_eq!(real_bits(&params, 4_001, 0x1b01_0203, 5), 0x1b01_0203);
    assert_eq!(real_bits(&params, 4_032, 0x1d00_ffff, 5), 0x1d00_ffff);
    assert_eq!(real_bits(&params, 0, 0x1d00_ffff, 5), 0x1d00_ffff);
    assert_eq!(real_bits(&Params::mainnet(), 4_001, 0x1d00_ffff, 5), 0x1d00_ffff);
}

#[test]
fn bip94_takes_the_difficulty_of_the_first_block_of_the_period() {
    let params = Params::testnet4();
    let last = Parent {
        first_time: 1_000_000_000 - 1_209_600 / 2,
        first_bits: 0x1b01_0000,
        ..parent(4_031, 1_000_000_000, 0x1d00_ffff)
    };
    assert_eq!(next_bits(&params, &last, 1_000_000_600), Ok(0x1b00_8000));
    assert_eq!(next_bits(&Params::testnet3(), &last, 1_000_000_600), Ok(0x1c7f_ff80));
    let high = Parent { first_bits: 0x1b00_ffff, ..last };
    assert_eq!(next_bits(&params, &high, 1_000_000_600), Ok(0x1a7f_ff80));
}

#[test]
fn bip94_refuses_periods_that_begin_before_the_last_one_ended() {
    let params = Params { bip94: true, ..easy(8) };
    let bits = 0x207f_ffff;
    // the median is far back, so that only this rule is broken
    let last = Parent { median_time: 1_000, ..parent(7, 100_000, bits) };
    let last = Parent { first_time: 100_000 - 8 * 600, ..last };
    let check = |params: &Params, last: &Parent, time| {
        let header = mine(4, &BlockHash([0; 32]), 1, time, bits);
        verify_header(
            params,
            last,
            &Header(&header),
            &BlockHash(blockmill_hashes::sha256d(&header)),
            None,
        )
    };
    let wrong = Violation::Timewarp { earliest: 99_400, found: 99_399 };
    assert_eq!(check(&params, &last, 99_399), Err(wrong));
    assert_eq!(check(&params, &last, 99_400), Ok(()));
    assert_eq!(check(&Params { bip94: false, ..params.clone() }, &last, 99_399), Ok(()));
    assert_eq!(check(&params, &Parent { height: 6, ..last }, 99_399), Ok(()));
    // times near the beginning of time
    let early = Parent { time: 300, median_time: 0, first_time: 0, ..last };
    assert!(!matches!(check(&params, &early, 1), Err(Violation::Timewarp { .. })));
}

#[test]
fn versions_become_obsolete_one_after_the_other() {
    let params = Params::mainnet();
    let check = |height, version| verify_version(&params, height, version);
    for (height, least) in [(227_931, 2), (363_725, 3), (388_381, 4)] {
        assert_eq!(check(height - 1, least - 1), Ok(()));
        let wrong = Violation::Version { least, found: least - 1 };
        assert_eq!(check(height, least - 1), Err(wrong));
        assert_eq!(check(height, least), Ok(()));
    }
    assert_eq!(check(0, i32::MIN), Ok(()));
    assert_eq!(check(1_000_000, -1), Err(Violation::Version { least: 4, found: -1 }));
    assert_eq!(check(1_000_000, 0x2000_0000), Ok(()));
}

#[test]
fn times_come_after_the_median_and_not_from_the_future() {
    let params = easy(1_000);
    let last = Parent { median_time: 5_000, ..parent(20, 9_000, 0x207f_ffff) };
    let check = |time, now| {
        let header = mine(1, &BlockHash([0; 32]), 1, time, 0x207f_ffff);
        verify_header(
            &params,
            &last,
            &Header(&header),
            &BlockHash(blockmill_hashes::sha256d(&header)),
            now,
        )
    };
    let old = |found| Err(Violation::MedianTime { median: 5_000, found });
    assert_eq!(check(5_000, None), old(5_000));
    assert_eq!(check(4_999, None), old(4_999));
    assert_eq!(check(5_001, None), Ok(()));
    assert_eq!(check(u32::MAX, None), Ok(()));
    assert_eq!(check(17_200, Some(10_000)), Ok(()));
    let future = Err(Violation::Future { latest: 17_200, found: 17_201 });
    assert_eq!(check(17_201, Some(10_000)), future);
    assert_eq!(verify_not_in_future(u32::MAX, u64::MAX), Ok(()));
}

#[test]
fn median_is_the_later_middle_one() {
    assert_eq!(median(&mut []), None);
    assert_eq!(median(&mut [7]), Some(7));
    assert_eq!(median(&mut [9, 3]), Some(9));
    assert_eq!(median(&mut [5, 1, 9, 3]), Some(5));
    let mut random = Random::new(1);
    for _ in 0..1_000 {
        let mut times: Vec<u32> = (0..11).map(|_| random.below(20) as u32).collect();
        let mut sorted = times.clone();
        sorted.sort();
        assert_eq!(median(&mut times), Some(sorted[5]));
    }
}

/// A chain of `count` headers after the first block, `step` seconds between them.
fn chain(params: &Params, count: u32, step: u32) -> Vec<[u8; 80]> {
    let mut headers = vec![generated_headers::genesis_header(params)];
    let mut state = parent(0, 1_296_688_602, 0x207f_ffff);
    for height in 1..=count {
        let last = &headers[headers.len() - 1];
        let (time, previous) = (state.time + step, blockmill_hashes::sha256d(last));
        let bits = next_bits(params, &state, time).unwrap();
        headers.push(mine(1, &BlockHash(previous), 0, time, bits));
        let first = height.is_multiple_of(params.period());
        let (first_time, first_bits) =
            if first { (time, bits) } else { (state.first_time, state.first_bits) };
        state = Parent { first_time, first_bits, ..parent(height, time, bits) };
    }
    headers
}

#[test]
fn difficulty_changes_at_2016_and_4032_and_nowhere_else() {
    let params = easy(2_016);
    let headers = chain(&params, 4_040, 300);
    let bits: Vec<u32> = headers.iter().map(|header| Header(header).bits()).collect();
    // 2,015 intervals of 300 seconds instead of 2,016 of 600
    let second = compact(target(0x207f_ffff).unwrap() / U256::from(2 * 2_016) * U256::from(2_015));
    assert!(bits[..2_016].iter().all(|bits| *bits == 0x207f_ffff));
    assert!(bits[2_016..4_032].iter().all(|bits| *bits == second), "{second:08x}");
    let third = compact(target(second).unwrap() / U256::from(2 * 2_016) * U256::from(2_015));
    assert!(bits[4_032..].iter().all(|bits| *bits == third));

    let mut records = found(&headers);
    let tree = Tree::build(&params, records.clone(), None);
    assert_eq!((tree.len(), tree.refused().len()), (4_041, 0));
    let tip = tree.best_tip();
    records.reverse();
    for (at, record) in records.iter_mut().enumerate() {
        record.offset = at as u64;
    }
    let reversed = Tree::build(&params, records.clone(), None);
    assert_eq!(reversed.hash(reversed.best_tip()), tree.hash(tip));
    assert_eq!(reversed.best_chain().len(), 4_041);

    // the same block with the difficulty of the period before
    let header = Header(&headers[2_016]);
    let wrong = mine(1, &header.previous(), 0, header.time(), 0x207f_ffff);
    let mut headers = headers[..2_016].to_vec();
    headers.push(wrong);
    let tree = Tree::build(&params, found(&headers), None);
    let violation = Violation::Difficulty { expected: second, found: 0x207f_ffff };
    assert_eq!(tree.refused()[0].reason, RefusalReason::Rule(2_016, violation));
    assert_eq!(violation.rule(), "difficulty");
}

#[test]
fn highest_targets_do_not_overflow() {
    let params = easy(16);
    let slow = Parent { first_time: 1, ..parent(15, u32::MAX, 0x207f_ffff) };
    assert_eq!(next_bits(&params, &slow, 1), Ok(0x207f_ffff));
    let fast = Parent { first_time: u32::MAX, ..parent(15, 1, 0x207f_ffff) };
    assert_eq!(next_bits(&params, &fast, 1), Ok(0x201f_ffff));
}

#[test]
fn bits_that_are_no_target_give_no_new_target() {
    let params = Params::mainnet();
    let limit = params.limit_bits();
    for bits in [0, 0x1d80_ffff, 0xff12_3456] {
        let last = parent(2_015, 1_233_061_996, bits);
        let wrong = Err(Violation::Target { limit, found: bits });
        assert_eq!(next_bits(&params, &last, 1_233_062_596), wrong, "{bits:08x}");
    }
}
