//! Real headers with one bit flipped where only the seal can tell. The client that the chain
//! comes from accepts each of these when it imports headers, as it no longer checks seals.

use crate::program::{Scratch, blockmill, fixtures, refuse, succeed, tip_of};
use std::fs;
use std::path::Path;

/// Number of the last block of the copy, whose header is changed: nothing refers to it.
const LAST: usize = 200;

/// Fields that no rule but the seal fixes, and an offset in them, counted from the header's first
/// byte or from its end: a header of Frontier begins with a prefix of 3 bytes, and ends with the
/// mix hash (0xa0 and 32 bytes) and the nonce (0x88 and 8 bytes).
const FIELDS: [(&str, isize); 8] = [
    ("parent hash", 4),
    ("ommers hash", 3 + 33 + 1),
    ("beneficiary", 3 + 2 * 33 + 1),
    ("state root", 3 + 2 * 33 + 21 + 5),
    ("receipts root", 3 + 4 * 33 + 21 + 7),
    ("logs bloom", 3 + 5 * 33 + 21 + 3 + 100),
    ("mix hash", -(9 + 20)),
    ("nonce", -1),
];

/// The first blocks of the main network as a stream of headers.
fn headers(scratch: &Scratch, fixtures: &Path) -> Vec<Vec<u8>> {
    let path = scratch.path("headers");
    let mut convert = blockmill("convert --to headers --until");
    convert.arg(LAST.to_string()).arg("--out").arg(&path);
    succeed(convert.arg(fixtures.join("era1/mainnet-00000-5ec1ffb8.era1")));
    let blocks = crate::Blocks::read(&path);
    assert_eq!(blocks.headers.len(), LAST + 1);
    blocks.headers
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_flipped_bit_that_only_the_seal_covers_is_found() {
    let fixtures = fixtures();
    let scratch = Scratch::new("seals");
    let headers = headers(&scratch, &fixtures);
    let caches = scratch.path("caches");
    for (field, offset) in FIELDS {
        let name = field.replace(' ', "-");
        let (path, store) = (scratch.path(&name), scratch.path(&format!("{name}-store")));
        let mut corrupt = headers.clone();
        let last = corrupt.last_mut().unwrap();
        let at = offset.rem_euclid(last.len() as isize) as usize;
        last[at] ^= 4;
        fs::write(&path, corrupt.concat()).unwrap();
        let mut import = blockmill("import --seal all --data");
        import.arg(&store).arg("--ethash-cache").arg(&caches).arg(&path);
        let rule = if field == "parent hash" { "parent hash" } else { "seal: " };
        let place = format!("{} at byte {}", path.display(), headers[..LAST].concat().len());
        refuse(&mut import, &[&place, "block 200", rule]);
        let doubtful = if rule == "parent hash" { 2 } else { 1 };
        assert_eq!(tip_of(&store), Some(LAST as u64 - doubtful), "{field}");
        let mut good = blockmill("import --seal all --data");
        good.arg(&store).arg("--ethash-cache").arg(&caches).arg(scratch.path("headers"));
        succeed(&mut good);
        assert_eq!(tip_of(&store), Some(LAST as u64));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_wrong_seal_in_an_era1_file_is_found_at_level_bodies() {
    let fixtures = fixtures();
    let scratch = Scratch::new("seals-era1");
    let mut blocks = crate::Blocks::read(&fixtures.join("era1/mainnet-00000-5ec1ffb8.era1"));
    blocks = blocks.part(0, LAST + 1);
    for (i, (byte, bit)) in [(7, 1), (0, 0x80)].into_iter().enumerate() {
        let (path, store) = (scratch.path(&format!("{i}")), scratch.path(&format!("store-{i}")));
        let mut corrupt = blocks.clone();
        corrupt.edit(LAST, |header| header.nonce[byte] ^= bit);
        // total difficulties and the accumulator are those of the changed header
        corrupt.write("era1", &path);
        let mut import = blockmill("import --seal all --data");
        import.arg(&store).arg("--ethash-cache").arg(scratch.path("caches")).arg(&path);
        refuse(&mut import, &[".era1 at byte ", "block 200", "seal: "]);
        assert_eq!(tip_of(&store), Some(LAST as u64 - 1));
        // the same archive without seals: nothing else is wrong with it
        let other = scratch.path(&format!("unsealed-{i}"));
        let mut import = blockmill("import --seal off --level bodies --data");
        succeed(import.arg(&other).arg(&path));
        assert_eq!(tip_of(&other), Some(LAST as u64));
    }
}
