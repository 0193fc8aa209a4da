//! Batches of standard witnesses, against checks of one signature at a time.

use blockmill_hashes::{ManySha256, sha256};
use blockmill_neo::types::{PublicKey, UInt160, UInt256, Witness};
use blockmill_neo::witness::{Signed, Verdict, Verifier, multisig_script, signature_script};
use blockmill_signatures::{KeyTables, Signatures, Width};
use blockmill_testkit::Random;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use p256::ecdsa::{Signature, SigningKey};

const MAGIC: u32 = 0x334f_454e;

/// Keys in script order, and their secrets.
fn signers(random: &mut Random, count: usize) -> Vec<(PublicKey, SigningKey)> {
    let mut signers: Vec<_> = (0..count)
        .map(|_| {
            let key = SigningKey::from_slice(&random.array::<32>()).unwrap();
            let point = key.verifying_key().to_encoded_point(true);
            (PublicKey::try_from(point.as_bytes()).unwrap(), key)
        })
        .collect();
    signers.sort_by_key(|(key, _)| key[1..].to_vec());
    signers
}

fn sign(key: &SigningKey, magic: u32, hash: UInt256) -> Vec<u8> {
    let digest = sha256(&[&magic.to_le_bytes()[..], &hash.0].concat());
    let signature: Signature = key.sign_prehash(&digest).unwrap();
    [&[0x0c, 64][..], &signature.to_bytes()].concat()
}

/// A witness and its verdict.
struct Case {
    hash: UInt256,
    invocation: Vec<u8>,
    verification: Vec<u8>,
    expected: Verdict,
}

/// A multisig witness of `wanted` of `count` keys: valid, or invalid in some way.
fn case(random: &mut Random, count: usize, wanted: usize) -> Case {
    let signers = signers(random, count);
    let keys: Vec<PublicKey> = signers.iter().map(|(key, _)| *key).collect();
    let single = count == 1 && random.coin();
    let verification =
        if single { signature_script(&keys[0]) } else { multisig_script(wanted, &keys) };
    let hash = UInt256(random.array());
    let mut chosen: Vec<usize> = (0..count).collect();
    random.shuffle(&mut chosen);
    chosen.truncate(wanted);
    chosen.sort_unstable();
    let mut signatures: Vec<Vec<u8>> =
        chosen.iter().map(|at| sign(&signers[*at].1, MAGIC, hash)).collect();
    // the price of two pushes for each signature and key, and of each verification
    let (numbers, checks) = if single { (0, 1) } else { (2, count) };
    let units = (8 * (wanted + checks) + numbers + (checks << 15)) as u32;
    let expected = match random.below(8_u8) {
        0 => {
            let bit = 8 * (2 + random.below(64_usize)) + random.below(8_usize);
            let at = random.below(wanted);
            signatures[at][bit / 8] ^= 1 << (bit % 8);
            Verdict::Invalid
        }
        1 if wanted > 1 => {
            // the order of keys matters
            signatures.swap(0, wanted - 1);
            Verdict::Invalid
        }
        2 => {
            signatures[0] = sign(&signers[chosen[0]].1, MAGIC + 1, hash);
            Verdict::Invalid
        }
        3 if wanted > 1 => {
            // no key signs twice
            signatures[1] = signatures[0].clone();
            Verdict::Invalid
        }
        // too few, or of another length: the machine decides
        4 => {
            signatures.pop();
            Verdict::Machine
        }
        5 => {
            signatures[0].push(0x21);
            Verdict::Machine
        }
        _ => Verdict::Valid { units },
    };
    Case { hash, invocation: signatures.concat(), verification, expected }
}

#[test]
fn every_verifier_has_the_verdicts_of_one_signature_at_a_time() {
    let mut random = Random::new_each_run("every_way_to_verify_gives_the_verdict");
    let mut cases: Vec<Case> = Vec::new();
    for _ in 0..150 {
        let count = random.pick(&[1, 1, 2, 3, 4, 7, 21, 28]);
        let wanted = 1 + random.below(count);
        // 28 of 28 keys exceed the limit of a witness, but not of this verifier
        cases.push(case(&mut random, count, wanted));
    }
    let valid = cases.iter().filter(|case| matches!(case.expected, Verdict::Valid { .. })).count();
    assert!(valid > 20 && valid < 120, "{valid}");
    let signed: Vec<Signed<'_>> = cases
        .iter()
        .map(|case| Signed {
            hash: case.hash,
            witness: Witness { invocation: &case.invocation, verification: &case.verification },
        })
        .collect();
    for signatures in Width::ALL.into_iter().filter_map(Signatures::with) {
        for tables in [KeyTables::new(0), KeyTables::new(16 << 20)] {
            let hasher = ManySha256::detect();
            let verifier = Verifier { magic: MAGIC, signatures, tables: &tables, hasher };
            let together = verifier.verify(&signed);
            for ((case, checked), each) in cases.iter().zip(&together).zip(&signed) {
                assert_eq!(checked.verdict, case.expected);
                assert_eq!(checked.script_hash, UInt160::of_script(&case.verification));
                assert_eq!(verifier.verify(&[*each]), [*checked]);
            }
        }
    }
}

/// A verification script of keys, one of which is invalid, and two signatures.
pub fn with_malformed_key(
    hash: UInt256,
    magic: u32,
    bad: Option<usize>,
    signers_at: [usize; 2],
) -> (Vec<u8>, Vec<u8>) {
    let signers = signers(&mut Random::new(36), 4);
    let mut keys: Vec<PublicKey> = signers.iter().map(|(key, _)| *key).collect();
    let mut verification = multisig_script(2, &keys);
    if let Some(bad) = bad {
        // this x is not on the curve
        keys[bad] = [0xff; 33];
        keys[bad][0] = 2;
        let place = 1 + 35 * bad + 2;
        verification[place..place + 33].copy_from_slice(&keys[bad]);
    }
    let signatures = signers_at.map(|at| sign(&signers[at].1, magic, hash));
    (signatures.concat(), verification)
}

#[test]
fn a_multisig_script_with_a_malformed_key_needs_the_machine() {
    let tables = KeyTables::new(0);
    let (signatures, hasher) = (Signatures::detect(), ManySha256::detect());
    let verifier = Verifier { magic: MAGIC, signatures, tables: &tables, hasher };
    let hash = UInt256([7; 32]);
    for bad in [None, Some(0), Some(1), Some(3)] {
        let (invocation, verification) = with_malformed_key(hash, MAGIC, bad, [0, 2]);
        let witness = Witness { invocation: &invocation, verification: &verification };
        let checked = verifier.verify(&[Signed { hash, witness }]);
        assert_eq!(matches!(checked[0].verdict, Verdict::Valid { .. }), bad.is_none());
        assert_eq!(checked[0].verdict == Verdict::Machine, bad.is_some());
    }
}

#[test]
fn a_contract_has_no_script_and_needs_the_machine() {
    let tables = KeyTables::new(0);
    let verifier = Verifier {
        magic: MAGIC,
        signatures: Signatures::scalar(),
        tables: &tables,
        hasher: ManySha256::scalar(),
    };
    let witness = Witness { invocation: &[], verification: &[] };
    let checked = verifier.verify(&[Signed { hash: UInt256::ZERO, witness }]);
    assert_eq!(checked[0].verdict, Verdict::Machine);
    assert_eq!(checked[0].script_hash, UInt160::ZERO);
    assert!(verifier.verify(&[]).is_empty());
}
