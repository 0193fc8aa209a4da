//! Tries in arenas compared with tries of pointers, on real blocks.

use super::*;
use crate::witness::{Document, Witness};
use blockmill_archive::Column;
use blockmill_testkit::Random;

fn witnesses() -> Vec<(String, Witness)> {
    let folder = std::fs::read_dir(blockmill_testkit::fixture("ethereum/witness")).unwrap();
    let mut all: Vec<_> = folder
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            match Document::read(&blockmill_testkit::read(entry.path())).unwrap() {
                Document::Whole(witness) => (name, witness),
                other => panic!("{name}: {other:?}"),
            }
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn spec(witness: &Witness) -> ChainSpec {
    ChainSpec::by_name(if witness.chain_id == Some(1) { "mainnet" } else { "hoodi" }).unwrap()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn arenas_accept_every_real_block_as_pointers_do() {
    let cache = Arc::default();
    let witnesses = witnesses();
    assert_eq!(witnesses.len(), 22);
    for (name, witness) in witnesses {
        let spec = spec(&witness);
        let set = &witness.parts.set;
        let block = Prepared::new(&spec, &witness.block, &witness.parts.headers).unwrap();
        let fast = block.accept(set, &cache);
        assert_eq!(fast, Some(block.explain(set, &cache).unwrap()), "{name}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn arenas_accept_no_witness_that_pointers_refuse() {
    let mut random = Random::new(42);
    let cache = Arc::default();
    let (mut accepted, mut refused) = (0, 0);
    for (name, witness) in witnesses().into_iter().filter(|(_, w)| w.counts()[0] < 700) {
        let spec = spec(&witness);
        let block = Prepared::new(&spec, &witness.block, &witness.parts.headers).unwrap();
        let (nodes, codes) = witness.parts.columns();
        for _ in 0..blockmill_testkit::rounds(40) {
            // one node is missing, or a byte of it is another one
            let at = random.below(nodes.len());
            let mut changed = Column::new();
            for (i, node) in nodes.iter().enumerate() {
                let mut node = node.to_vec();
                match () {
                    () if i != at => changed.push(&node),
                    () if random.coin() => {
                        random.flip(&mut node);
                        changed.push(&node);
                    }
                    () => {}
                }
            }
            let set = NodeSet::given(changed, codes.clone());
            let slow = block.explain(&set, &cache).ok();
            assert_eq!(block.accept(&set, &cache), slow, "{name} without node {at}");
            *if slow.is_some() { &mut accepted } else { &mut refused } += 1;
        }
    }
    assert!(accepted > 0 && refused > 0, "{accepted} {refused}");
}
