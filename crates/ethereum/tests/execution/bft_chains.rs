//! Small chains of IBFT 2.0 and QBFT, which a program of its own made: `tests/bft-chains`.

use super::imports::{options, run};
use super::small_chains::{self, Change};
use blockmill_ethereum::U256;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_rlp::ethereum::block_hash;
use blockmill_rlp::{Encode, RawList, Reader};
use blockmill_verdict::Hex;

const ENGINES: [&str; 2] = ["bft-chains/ibft2", "bft-chains/qbft"];
/// The number of the last block.
const LAST: usize = 28;

/// Changes the items of the extra data: vanity, validators, vote, round, seals.
fn edit(header: &mut Header, change: impl Fn(&mut Vec<Vec<u8>>)) {
    let mut list = Reader::new(&header.extra_data).list().unwrap();
    let mut items: Vec<Vec<u8>> =
        std::iter::from_fn(|| Some(list.item().ok()?.raw.to_vec())).collect();
    change(&mut items);
    let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
    header.extra_data = RawList(&items).encode();
}

/// The items of a list, with `change` made to them.
fn edit_list(raw: &mut Vec<u8>, change: impl Fn(&mut Vec<Vec<u8>>)) {
    let mut list = Reader::new(raw).list().unwrap();
    let mut items: Vec<Vec<u8>> =
        std::iter::from_fn(|| Some(list.item().ok()?.raw.to_vec())).collect();
    change(&mut items);
    let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
    *raw = RawList(&items).encode();
}

#[test]
fn blocks_of_validators_are_executed() {
    for engine in ENGINES {
        small_chains::accept(engine, LAST as u64);
    }
}

#[test]
fn blocks_have_the_hashes_that_the_maker_of_the_chain_gave_them() {
    for engine in ENGINES {
        let (spec, path) = small_chains::chain(engine);
        let stated = std::fs::read_to_string(path.with_file_name("hashes.txt")).unwrap();
        let export = std::fs::read(path).unwrap();
        let mut reader = Reader::new(&export);
        let mut blocks = 0;
        for stated in stated.lines() {
            let header = reader.list().unwrap().item().unwrap().raw;
            let hash = block_hash(header);
            assert_eq!(Hex(&hash).to_string(), format!("0x{stated}"), "{engine}");
            assert_eq!(HeaderView::decode(header).unwrap().hash(), hash);
            assert_eq!(hash == blockmill_hashes::keccak256(header), blocks == 0, "{engine}");
            blocks += 1;
        }
        assert_eq!((blocks, reader.is_empty()), (LAST + 1, true));
        assert_eq!(Hex(&spec.genesis.hash).to_string()[2..], stated[..64]);
    }
}

#[test]
fn seals_are_checked_as_far_as_it_is_asked_for() {
    for engine in ENGINES {
        for (mode, checked) in [(SealMode::Off, 0), (SealMode::All, LAST as u64)] {
            let (spec, path) = small_chains::chain(engine);
            let mut options = options(spec, Settings::default());
            options.seal = SealPolicy { mode, seed: 0 };
            let (done, error) = run(path, &options, &mut Sink::Discard);
            assert_eq!((done.seals_checked, error), (checked, None), "{engine}");
            assert_eq!(done.seals_checked + done.seals_left, LAST as u64);
        }
    }
}

#[test]
fn headers_that_validators_do_not_make_are_refused() {
    let cases: [(&str, Change<'_>); 15] = [
        ("extra data of validators", &|header| header.extra_data.truncate(40)),
        ("extra data of validators", &|header| header.extra_data.clear()),
        ("extra data of validators", &|header| header.extra_data.push(0)),
        ("extra data of validators", &|header| edit(header, |items| items.truncate(4))),
        ("extra data of validators", &|header| edit(header, |items| items[3] = vec![0x82, 0, 1])),
        ("extra data of validators", &|header| {
            edit(header, |items| edit_list(&mut items[4], |seals| seals[0] = vec![0x82, 1, 2]));
        }),
        ("extra data of validators", &|header| {
            let vote = RawList(&[&[7u8; 20].encode(), &[3]]).encode();
            edit(header, |items| items[2] = vote.clone());
        }),
        ("validators of the block", &|header| edit(header, |items| items[1] = vec![0xc0])),
        ("validators of the block", &|header| {
            edit(header, |items| edit_list(&mut items[1], |validators| validators.reverse()));
        }),
        ("proposer of the block", &|header| header.beneficiary = [1; 20]),
        ("mix hash of validators", &|header| header.mix_hash[0] ^= 1),
        ("no ommers under validators", &|header| header.ommers_hash = [1; 32]),
        ("difficulty 1 under validators", &|header| header.difficulty = U256::from(2)),
        ("nonce 0 under validators", &|header| header.nonce = [1; 8]),
        ("period of the blocks", &|header| header.timestamp -= 1),
    ];
    for engine in ENGINES {
        for (rule, change) in cases {
            let error = small_chains::refused(engine, SealMode::Off, 9, change);
            let both = error.contains("block 9") && error.contains(rule);
            assert!(both && error.contains("Hyperledger Besu"), "{engine} {rule}: {error}");
        }
    }
}

#[test]
fn extra_data_of_the_other_engine_is_refused() {
    let number: Change<'_> = &|header| {
        edit(header, |items| (items[2], items[3]) = (vec![0xc0], vec![0x80]));
    };
    let error = small_chains::refused(ENGINES[0], SealMode::Off, 9, number);
    assert!(error.contains("that of the other engine"), "{error}");
    let bytes: Change<'_> = &|header| {
        edit(header, |items| (items[2], items[3]) = (vec![0x80], vec![0x84, 0, 0, 0, 0]));
    };
    let error = small_chains::refused(ENGINES[1], SealMode::Off, 9, bytes);
    assert!(error.contains("that of the other engine"), "{error}");
}

#[test]
fn a_changed_round_or_seal_changes_no_hash_and_is_noticed_where_seals_are_checked() {
    let another_round: Change<'_> = &|header| {
        edit(header, |items| {
            items[3] = if items[3].len() == 5 { vec![0x84, 0, 0, 0, 9] } else { vec![9] };
        });
    };
    let cases: [(&str, Change<'_>); 6] = [
        ("committed seal", another_round),
        ("committed seal", &|header| {
            edit(header, |items| edit_list(&mut items[4], |seals| seals[1][40] ^= 1));
        }),
        ("committed seal", &|header| {
            edit(header, |items| edit_list(&mut items[4], |seals| seals[0][66] = 27));
        }),
        ("one seal of a validator", &|header| {
            edit(header, |items| edit_list(&mut items[4], |seals| seals[1] = seals[0].clone()));
        }),
        ("seals of two thirds", &|header| {
            edit(header, |items| edit_list(&mut items[4], |seals| seals.truncate(3)));
        }),
        ("seals of two thirds", &|header| edit(header, |items| items[4] = vec![0xc0])),
    ];
    for engine in ENGINES {
        for (rule, change) in cases {
            // block 12 has five validators; blocks follow, which name it by its hash
            let unnoticed = small_chains::changed(engine, SealMode::Off, (12, 15), change);
            assert_eq!(unnoticed, None, "{engine} {rule}");
            let error = small_chains::changed(engine, SealMode::All, (12, 15), change).unwrap();
            assert!(error.contains("block 12") && error.contains(rule), "{engine} {rule}: {error}");
        }
    }
}

#[test]
fn changed_validators_votes_and_vanity_change_the_hash() {
    let cases: [Change<'_>; 3] = [
        &|header| {
            let proposer = header.beneficiary;
            edit(header, |items| {
                edit_list(&mut items[1], |all| {
                    let other = all.iter().position(|one| one[1..] != proposer).unwrap();
                    all.remove(other);
                });
            });
        },
        &|header| {
            let vote = RawList(&[&[7u8; 20].encode(), &[0x81, 0xff]]).encode();
            edit(header, |items| items[2] = vote.clone());
        },
        &|header| edit(header, |items| items[0][5] ^= 1),
    ];
    for engine in ENGINES {
        for (i, change) in cases.into_iter().enumerate() {
            let followed = small_chains::changed(engine, SealMode::Off, (12, 13), change).unwrap();
            assert!(followed.contains("parent hash"), "{engine} {i}: {followed}");
            // nothing follows the last block but its seals
            let last = small_chains::changed(engine, SealMode::Off, (12, 12), change);
            assert_eq!(last, None, "{engine} {i}");
            let sealed = small_chains::refused(engine, SealMode::All, 12, change);
            assert!(sealed.contains("committed seal"), "{engine} {i}: {sealed}");
        }
    }
}

#[test]
fn fees_and_rewards_go_where_the_chain_says() {
    for (engine, setting) in [(0, "blockreward"), (1, "miningbeneficiary")] {
        let (_, path) = small_chains::chain(ENGINES[engine]);
        let genesis = std::fs::read_to_string(path.with_file_name("genesis.json")).unwrap();
        let mut file: serde_json::Value = serde_json::from_str(&genesis).unwrap();
        let name = ["ibft2", "qbft"][engine];
        file["config"][name].as_object_mut().unwrap().remove(setting).unwrap();
        let spec = blockmill_ethereum::params::ChainSpec::from_genesis_json(&file.to_string());
        let (_, error) =
            run(path, &options(spec.unwrap(), Settings::default()), &mut Sink::Discard);
        let error = error.unwrap();
        assert!(error.contains("block 1") && error.contains("state root"), "{name}: {error}");
    }
}
