//! SHA-256 and SHA-256d against published digests and a chain of real headers.

use blockmill_hashes::{ManySha256, Sha256, sha256, sha256d};
use blockmill_testkit::hex;

/// Examples of FIPS 180 (NIST, "SHA256.pdf" and "SHA2_Additional.pdf").
const EXAMPLES: [(&[u8], &str); 4] = [
    (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ),
    (
        b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno\
          ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
    ),
];

const MILLION_A: &str = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

#[test]
fn gives_the_published_digests() {
    let million = vec![b'a'; 1_000_000];
    let examples: Vec<(&[u8], &str)> =
        EXAMPLES.into_iter().chain([(&million[..], MILLION_A)]).collect();
    // more of them than lanes, since few messages go to a narrower width
    let examples = examples.repeat(4);
    let messages: Vec<&[u8]> = examples.iter().map(|(message, _)| *message).collect();
    for (message, digest) in &examples {
        assert_eq!(hex::encode(sha256(message)), *digest);
    }
    for many in ManySha256::all_available() {
        let mut out = vec![[0; 32]; messages.len()];
        many.sha256(&messages, &mut out);
        for ((_, digest), out) in examples.iter().zip(&out) {
            assert_eq!(hex::encode(out), *digest, "{}", many.name());
        }
    }
}

#[test]
fn a_message_in_parts_has_the_published_digest() {
    for part in [1, 63, 64, 65, 127, 1000] {
        let mut hash = Sha256::new();
        vec![b'a'; 1_000_000].chunks(part).for_each(|part| hash.update(part));
        assert_eq!(hex::encode(hash.finalize()), MILLION_A, "parts of {part}");
    }
}

#[test]
fn gives_the_hash_of_the_genesis_block_of_bitcoin() {
    // version 1, no parent, merkle root, 2009-01-03 18:15:05, bits, nonce 2083236893
    let mut header = [0; 80];
    header[0] = 1;
    let merkle_root = "3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a";
    for (i, byte) in header[36..68].iter_mut().enumerate() {
        *byte = u8::from_str_radix(&merkle_root[2 * i..2 * i + 2], 16).unwrap();
    }
    header[68..72].copy_from_slice(&1_231_006_505_u32.to_le_bytes());
    header[72..76].copy_from_slice(&0x1d00_ffff_u32.to_le_bytes());
    header[76..80].copy_from_slice(&2_083_236_893_u32.to_le_bytes());
    // hashes of blocks are written with the last byte first
    let shown = |mut hash: [u8; 32]| {
        hash.reverse();
        hex::encode(hash)
    };
    let expected = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
    assert_eq!(shown(sha256d(&header)), expected);
    for many in ManySha256::all_available() {
        let mut out = [[0; 32]; 17];
        many.sha256d_80(&[header; 17], &mut out);
        assert_eq!(out.map(shown), [expected; 17], "{}", many.name());
    }
}

/// The headers of a file of records: magic, size, block. The last record may be cut short.
fn headers(file: &[u8]) -> Vec<[u8; 80]> {
    let mut headers = vec![];
    let mut rest = file;
    while let Some((start, blocks)) = rest.split_first_chunk::<8>() {
        assert_eq!(start[..4], [0xf9, 0xbe, 0xb4, 0xd9], "magic of record {}", headers.len());
        let size = u32::from_le_bytes(start[4..].try_into().unwrap());
        headers.extend(blocks.first_chunk::<80>());
        rest = blocks.get(size as usize..).unwrap_or(&[]);
    }
    headers
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_headers_link_to_each_other() {
    let file = blockmill_testkit::read("bitcoin/mainnet-0-4521.dat");
    let headers = headers(&file);
    assert!(headers.len() > 4500, "{} headers", headers.len());
    for many in ManySha256::all_available() {
        let mut hashes = vec![[0; 32]; headers.len()];
        many.sha256d_80(&headers, &mut hashes);
        for (height, (hash, next)) in hashes.iter().zip(&headers[1..]).enumerate() {
            assert_eq!(hash[..], next[4..36], "block {height}, {}", many.name());
        }
        println!("{}: {} links between headers hold", many.name(), headers.len() - 1);
    }
}
