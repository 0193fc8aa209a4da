//! Proofs of the main network, changed ones, and lists of roots.

use blockmill_testkit::hex;

use super::*;

/// Proofs of the last blocks of Bellatrix and Capella and of one of Deneb, on the main network
/// (ethereum/portal-spec-tests, `tests/mainnet/history/headers_with_proof/block_proofs_*`).
const MAINNET: &str = include_str!("mainnet.txt");

/// The number of the kind, the hash of the block and the proof.
fn mainnet() -> impl Iterator<Item = (u64, Hash, Vec<u8>)> {
    MAINNET.split("\n\n").map(|text| {
        let (head, hashes) = text.split_once('\n').expect("a head");
        let [kind, hash, slot] = head.split(' ').collect::<Vec<_>>()[..] else { panic!("{head}") };
        let slot: u64 = slot.parse().expect("a slot");
        let mut proof = hex::decode(hashes.replace('\n', ""));
        proof.extend_from_slice(&slot.to_le_bytes());
        (kind.parse().expect("a kind"), hex::array(hash), proof)
    })
}

fn read(kind: u64, hash: &Hash, proof: &[u8]) -> Option<BeaconProof> {
    let location = Location::new(Path::new("x.ere"), 7);
    BeaconProof::read(ProofKind::of(kind)?, proof, hash, 0, location)
}

#[test]
fn proofs_of_the_main_network_lead_to_their_beacon_blocks_and_eras() {
    // the first one is the root that the era file of the main network 00758 has in its name
    let expected = [(757, "a7552bde"), (1052, "f294bdc6"), (1388, "1c865e00")];
    for ((kind, hash, proof), (era, root)) in mainnet().zip(expected) {
        let found = read(kind, &hash, &proof).expect("a proof");
        assert_eq!(found.from_block, found.beacon_block, "kind {kind}");
        assert_eq!(found.slot / ERA_SLOTS, era);
        assert_eq!(hex::encode(&found.root[..4]), root);
        // the lengths of kinds 1 and 3 are the same
        let other = if kind == 2 { 1 } else { 4 - kind };
        let of_other = read(other, &hash, &proof);
        assert!(of_other.is_none_or(|it| it.from_block != it.beacon_block), "kind {kind}");
        assert!(read(kind, &hash, &proof[1..]).is_none());
        assert!(read(4, &hash, &proof).is_none());
    }
    assert_eq!(mainnet().count(), 3);
}

#[test]
fn a_flipped_bit_in_a_proof_leads_elsewhere() {
    let mut random = blockmill_testkit::Random::new(3);
    for (kind, hash, proof) in mainnet() {
        let good = read(kind, &hash, &proof).expect("a proof");
        // 758 eras before Capella
        let mut roots = BeaconRoots {
            historical: vec![good.root; 758],
            summaries: vec![[0; 32]; 1400 - 758],
            ..BeaconRoots::default()
        };
        roots.summaries[good.slot.saturating_sub(758 * ERA_SLOTS) as usize / 8192] = good.root;
        assert!(roots.check(&good).expect("a known root"), "kind {kind}");
        for _ in 0..200 {
            let mut other = proof.clone();
            random.flip(&mut other);
            let found = roots.check(&read(kind, &hash, &other).expect("a proof"));
            // the slot may be of an era that is not known, or of another one before Capella, which
            // has the same root here
            let is_slot = other[..other.len() - 8] == proof[..proof.len() - 8];
            assert!(found.is_err() || is_slot && kind == 1 || matches!(found, Ok(false)));
        }
        assert!(roots.check(&read(kind, &[1; 32], &proof).expect("a proof")).is_err());
    }
}

#[test]
fn a_text_has_a_root_in_each_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("roots.txt");
    let (kind, hash, proof) = mainnet().next().expect("a proof");
    let good = read(kind, &hash, &proof).expect("a proof");
    let open = |text: String| {
        std::fs::write(&path, text).expect("a file");
        BeaconRoots::open(&path)
    };
    let root = hex::encode(good.root);
    for text in [format!("{}\n0x{root}\n\n", "11".repeat(32)), root.clone()] {
        assert!(open(text).expect("roots").check(&good).expect("a listed root"));
    }
    let error = open("11".repeat(32)).expect("roots").check(&good).expect_err("another root");
    assert!(error.to_string().contains("one of the 1 in"), "{error}");
    for wrong in [&root[1..], "root", "0x"] {
        let error = open(format!("{root}\n{wrong}\n")).expect_err("no root");
        assert!(error.to_string().contains("at byte 65: line of a list"), "{error}");
    }
}
