//! Every way of verifying signatures over P-256 against published cases. They are read from copies
//! that other crates carry: Project Wycheproof in the source of `p256` 0.13, those of NIST and
//! BoringSSL in the source of `ring` 0.17.

use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures, Width};
use secp256k1::ecdsa::Signature;

fn read(need: &str, name: &str) -> Vec<u8> {
    let path = blockmill_testkit::path_of(need).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The number in 32 bytes; its first bytes if it is longer and `cut`.
fn padded(number: &[u8], cut: bool) -> Option<[u8; 32]> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = if cut { &number[..number.len().min(32)] } else { &number[zeros..] };
    let mut bytes = [0; 32];
    bytes[32usize.checked_sub(number.len())?..].copy_from_slice(number);
    Some(bytes)
}

fn key(x: &[u8], y: &[u8]) -> Option<Key> {
    let mut key = [4; 65];
    key[1..33].copy_from_slice(&padded(x, false)?);
    key[33..].copy_from_slice(&padded(y, false)?);
    Some(Key::Uncompressed(key))
}

fn all_ways_agree(checks: &[EcdsaCheck], expected: &[bool]) {
    for signatures in Width::ALL.into_iter().filter_map(Signatures::with) {
        // some of the keys get tables
        let tables = KeyTables::new(1_000_000);
        for _ in 0..40 {
            let mut valid = vec![false; checks.len()];
            signatures.at_any_cost().p256(checks, &tables, &mut valid);
            for (i, (valid, expected)) in valid.iter().zip(expected).enumerate() {
                assert_eq!(valid, expected, "{:?} {:?}", signatures.width(), checks[i]);
            }
        }
    }
}

/// A file of the crate `blobby` 0.3: pieces of bytes, those that come often only once.
struct Blobs<'a> {
    rest: &'a [u8],
    often: Vec<&'a [u8]>,
}

impl<'a> Blobs<'a> {
    fn new(file: &'a [u8]) -> Self {
        let mut blobs = Blobs { rest: file, often: Vec::new() };
        for _ in 0..blobs.number() {
            let length = blobs.number();
            let piece = blobs.take(length);
            blobs.often.push(piece);
        }
        blobs
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (piece, rest) = self.rest.split_at(length);
        self.rest = rest;
        piece
    }

    fn number(&mut self) -> usize {
        let mut number = 0;
        loop {
            let byte = usize::from(self.take(1)[0]);
            number += byte & 0x7f;
            if byte < 0x80 {
                return number;
            }
            number = (number + 1) << 7;
        }
    }

    fn next(&mut self) -> &'a [u8] {
        match self.number() {
            place if place & 1 == 1 => self.often[place >> 1],
            length => self.take(length >> 1),
        }
    }
}

#[blockmill_testkit::needs(p256_source)]
#[test]
fn ecdsa_of_wycheproof() {
    let name = "src/test_vectors/data/wycheproof.blb";
    let file = read("p256_source", name);
    let mut blobs = Blobs::new(&file);
    let (mut checks, mut expected) = (Vec::new(), Vec::new());
    while !blobs.rest.is_empty() {
        let [x, y, message, signature, verdict] = std::array::from_fn(|_| blobs.next());
        // the form is that of the other curve, the numbers may be any
        let Ok(signature) = Signature::from_der(signature) else {
            assert_eq!(verdict, [0], "no strict DER");
            continue;
        };
        let compact = signature.serialize_compact();
        let (r, s) = compact.split_at(32);
        let (r, s) = (r.try_into().unwrap(), s.try_into().unwrap());
        let digest = sha256(message);
        checks.push(EcdsaCheck { digest, r, s, key: key(x, y).unwrap() });
        expected.push(verdict == [1]);
    }
    assert!(checks.len() > 100, "{} signatures", checks.len());
    assert!(expected.iter().any(|valid| !valid));
    all_ways_agree(&checks, &expected);
}

#[blockmill_testkit::needs(ring_source)]
#[test]
fn ecdsa_of_nist_and_boringssl() {
    let name = "crypto/fipsmodule/ecdsa/ecdsa_verify_tests.txt";
    let file = read("ring_source", name);
    let text = String::from_utf8(file).unwrap();
    let (mut checks, mut expected) = (Vec::new(), Vec::new());
    for block in text.split("\n\n").filter(|block| block.contains("Curve = P-256")) {
        let field = |name: &str| {
            let value =
                block.lines().find_map(|line| line.strip_prefix(name))?.strip_prefix(" = ")?;
            Some(blockmill_testkit::hex::decode(value.trim()))
        };
        let [x, y, digest, r, s] =
            ["X", "Y", "Digest", "R", "S"].map(|name| -> Vec<u8> { field(name).unwrap() });
        let is_valid = !block.contains("Invalid = Y");
        let numbers = (key(&x, &y), padded(&r, false), padded(&s, false));
        let (Some(key), Some(r), Some(s)) = numbers else {
            assert!(!is_valid, "{block}");
            continue;
        };
        checks.push(EcdsaCheck { digest: padded(&digest, true).unwrap(), r, s, key });
        expected.push(is_valid);
    }
    assert!(checks.len() > 50, "{} signatures", checks.len());
    all_ways_agree(&checks, &expected);
}
