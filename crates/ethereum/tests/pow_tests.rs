//! The public ethash vectors (PoWTests of ethereum/tests), and the seal of a real block.

use crate::{naive_ethash, vectors};
use blockmill_ethereum::U256;
use blockmill_ethereum::ethash::{Cache, Seal, SealError, check_seals};
use blockmill_ethereum::header::HeaderView;
use serde_json::Value;

fn bytes<const N: usize>(value: &Value) -> [u8; N] {
    blockmill_testkit::hex::decode(value.as_str().unwrap()).try_into().unwrap()
}

fn seal(header: &HeaderView) -> Seal {
    Seal {
        seal_hash: header.seal_hash(),
        nonce: header.nonce(),
        mix_hash: *header.mix_hash,
        difficulty: header.difficulty,
        number: header.number,
    }
}

/// Checks one vector and returns its seal.
fn check_vector(cache: &Cache, name: &str, vector: &Value) -> Seal {
    let raw = blockmill_testkit::hex::decode(vector["header"].as_str().unwrap());
    let seal = seal(&HeaderView::decode(&raw).unwrap());
    assert_eq!(seal.seal_hash, bytes(&vector["header_hash"]), "{name}: header hash");
    assert_eq!(seal.nonce.to_be_bytes(), bytes(&vector["nonce"]), "{name}: nonce");
    assert_eq!(seal.mix_hash, bytes(&vector["mixHash"]), "{name}: mix hash");
    assert_eq!(cache.as_bytes().len() as u64, vector["cache_size"], "{name}: cache size");
    let pages = blockmill_ethereum::ethash::dataset_pages(0).unwrap();
    assert_eq!(u64::from(pages) * 128, vector["full_size"], "{name}: dataset size");
    let cache_hash = blockmill_hashes::keccak256(cache.as_bytes());
    assert_eq!(cache_hash, bytes(&vector["cache_hash"]), "{name}: cache hash");
    let (rows, _) = cache.as_bytes().as_chunks();
    let plain = naive_ethash::hashimoto_light(rows, pages, &seal.seal_hash, seal.nonce);
    assert_eq!(plain.mix_hash, seal.mix_hash, "{name}: plain mix hash");
    assert_eq!(plain.result, bytes(&vector["result"]), "{name}: plain result");
    seal
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn public_vectors_and_real_seals_verify() {
    let cache = Cache::generate(0).unwrap();
    let mut seals = vec![main_network_block_1()];
    vectors::for_each_file(&["PoWTests/"], |_, text| {
        let file: Value = serde_json::from_str(text).unwrap();
        for (name, vector) in file.as_object().unwrap() {
            seals.push(check_vector(&cache, name, vector));
        }
    });
    println!("PoWTests: {} vectors", seals.len() - 1);
    assert_eq!(seals.len(), 3, "two vectors and one real block");

    // the vectors were not mined: their mix is right, their result is too large
    let mut verdicts = vec![];
    check_seals(&cache, &seals, &mut verdicts);
    let boundary = |verdict: &_| matches!(verdict, Err(SealError::Boundary { .. }));
    assert_eq!(verdicts[0], Ok(()));
    assert!(verdicts[1..].iter().all(boundary), "{verdicts:?}");

    seals[0].difficulty = U256::MAX;
    seals[1..].iter_mut().for_each(|seal| seal.difficulty = U256::ONE);
    check_seals(&cache, &seals, &mut verdicts);
    assert!(boundary(&verdicts[0]));
    assert_eq!(verdicts[1..], [Ok(()); 2]);
}

#[test]
fn the_seal_of_a_real_block_verifies_and_no_easier_one_does() {
    let cache = Cache::generate(0).unwrap();
    let real = main_network_block_1();
    let mut verdicts = vec![];
    let easier = [Seal { nonce: real.nonce ^ 1, ..real }, Seal { difficulty: U256::MAX, ..real }];
    check_seals(&cache, &[real, easier[0], easier[1]], &mut verdicts);
    assert_eq!(verdicts[0], Ok(()));
    assert!(matches!(verdicts[1], Err(SealError::MixHash { .. })), "{:?}", verdicts[1]);
    assert!(matches!(verdicts[2], Err(SealError::Boundary { .. })), "{:?}", verdicts[2]);
}

/// Block 1 of the main network: hash of the header without its seal, and the seal.
fn main_network_block_1() -> Seal {
    let hash = |text| blockmill_testkit::hex::decode(text).try_into().unwrap();
    Seal {
        seal_hash: hash("85913a3057ea8bec78cd916871ca73802e77724e014dda65add3405d02240eb7"),
        nonce: 0x539b_d497_9fef_1ec4,
        mix_hash: hash("969b900de27b6ac6a67742365dd65f55a0526c41fd18e1b16f1a1215c2e66f59"),
        difficulty: U256::from(17_171_480_576_u64),
        number: 1,
    }
}
