//! Small chains in folders of `tests`: a genesis.json and an RLP export of each.

use super::chains::execute;
use super::imports::{Place, options, run};
use crate::source;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_rlp::{Encode, RawList, Reader};
use std::path::PathBuf;

/// The chain of a folder, and its export.
pub fn chain(name: &str) -> (ChainSpec, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let genesis = std::fs::read_to_string(folder.join("genesis.json")).unwrap();
    (ChainSpec::from_genesis_json(&genesis).unwrap(), folder.join("chain.rlp"))
}

/// Executes every block of a chain, with the state in every place.
pub fn accept(name: &str, blocks: u64) {
    let (spec, path) = chain(name);
    let made = source::export(name, &std::fs::read(&path).unwrap());
    let counts = execute(&spec, &made);
    assert_eq!(counts.values().sum::<usize>() as u64, blocks, "{name}");
    for place in Place::all() {
        for speculate in ["speculate=off", "speculate=all"] {
            let options = options(spec.clone(), place.with(&[speculate]));
            let (done, error) = run(path.clone(), &options, &mut Sink::Discard);
            assert_eq!((done.blocks, error), (blocks + 1, None), "{name} {place:?} {speculate}");
        }
    }
}

/// Changes a header.
pub type Change<'a> = &'a dyn Fn(&mut Header);

/// The error of a chain with a changed header, up to the last block; `None` if it is accepted.
pub fn changed(
    name: &str,
    seal: SealMode,
    (block, last): (usize, usize),
    change: Change<'_>,
) -> Option<String> {
    let (spec, path) = chain(name);
    let export = std::fs::read(path).unwrap();
    let mut reader = Reader::new(&export);
    let mut blocks: Vec<Vec<u8>> =
        (0..=last).map(|_| reader.item().unwrap().raw.to_vec()).collect();
    let mut parts = Reader::new(&blocks[block]).list().unwrap();
    let mut header = HeaderView::decode(parts.item().unwrap().raw).unwrap().to_owned();
    change(&mut header);
    blocks[block] = RawList(&[&header.encode(), parts.rest()]).encode();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.rlp");
    std::fs::write(&path, blocks.concat()).unwrap();
    let mut options = options(spec, Settings::default());
    options.seal = SealPolicy { mode: seal, seed: 0 };
    run(path, &options, &mut Sink::Discard).1
}

/// The error of a chain that ends with a block of which the header is changed.
pub fn refused(name: &str, seal: SealMode, block: usize, change: Change<'_>) -> String {
    let error = changed(name, seal, (block, block), change);
    error.unwrap_or_else(|| panic!("{name}: a changed block {block} was accepted"))
}
