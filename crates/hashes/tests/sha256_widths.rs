//! Every width and every function against the crate `sha2`.

use blockmill_hashes::{ManySha256, Sha256, sha256, sha256d};
use blockmill_testkit::Random;
use sha2::Digest;

fn once(message: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(message).into()
}

fn twice(message: &[u8]) -> [u8; 32] {
    once(&once(message))
}

#[test]
fn every_width_hashes_every_length() {
    let bytes = Random::new(1).bytes(300);
    let messages: Vec<&[u8]> = (0..=300).map(|length| &bytes[300 - length..]).collect();
    let expected: Vec<_> = messages.iter().map(|message| once(message)).collect();
    let expected_twice: Vec<_> = messages.iter().map(|message| twice(message)).collect();
    for (i, message) in messages.iter().enumerate() {
        assert_eq!(sha256(message), expected[i], "{i} bytes");
        assert_eq!(sha256d(message), expected_twice[i], "{i} bytes, twice");
    }
    for many in ManySha256::all_available() {
        let mut out = vec![[0; 32]; messages.len()];
        many.sha256(&messages, &mut out);
        assert_eq!(out, expected, "{}", many.name());
        many.sha256d(&messages, &mut out);
        assert_eq!(out, expected_twice, "{}, twice", many.name());
        // a batch of one length each, so that all lanes end at once
        for (message, expected) in messages.iter().zip(&expected_twice) {
            let mut out = [[0; 32]; 19];
            many.sha256d(&[*message; 19], &mut out);
            assert_eq!(out, [*expected; 19], "{} bytes, {}", message.len(), many.name());
        }
    }
    println!("{} lengths, {} widths", messages.len(), ManySha256::all_available().len());
}

#[test]
fn every_width_hashes_random_batches() {
    let mut random = Random::new(2);
    let mut batches = 0;
    for round in 0..20 {
        for count in 0..=40 {
            // in some rounds one message is far longer than the others
            let lengths: Vec<_> =
                (0..count).map(|i| if i == round { 5000 } else { random.below(700) }).collect();
            let bytes = random.bytes(lengths.iter().sum());
            let mut ends = vec![];
            let mut messages = vec![];
            for length in lengths {
                let start = ends.last().map_or(0, |end: &u32| *end as usize);
                ends.push((start + length) as u32);
                messages.push(&bytes[start..start + length]);
            }
            let expected: Vec<_> = messages.iter().map(|message| once(message)).collect();
            let expected_twice: Vec<_> = messages.iter().map(|message| twice(message)).collect();
            for many in ManySha256::all_available().into_iter().chain([ManySha256::detect()]) {
                let mut out = vec![[0; 32]; count];
                many.sha256(&messages, &mut out);
                assert_eq!(out, expected, "{count} messages, {}", many.name());
                many.sha256d(&messages, &mut out);
                assert_eq!(out, expected_twice, "{count} messages, twice, {}", many.name());
                out.fill([0; 32]);
                many.sha256d_column(&bytes, &ends, &mut out);
                assert_eq!(out, expected_twice, "{count} messages in a column, {}", many.name());
            }
            batches += 1;
        }
    }
    println!("{batches} batches");
}

#[test]
fn every_width_hashes_pairs_and_headers() {
    let mut random = Random::new(3);
    for count in 0..=40 {
        let bytes = random.bytes(80 * count);
        let pairs = bytes[..64 * count].as_chunks::<64>().0;
        let headers = bytes.as_chunks::<80>().0;
        let expected_pairs: Vec<_> = pairs.iter().map(|pair| twice(pair)).collect();
        let expected_headers: Vec<_> = headers.iter().map(|header| twice(header)).collect();
        for many in ManySha256::all_available().into_iter().chain([ManySha256::detect()]) {
            let mut out = vec![[0; 32]; count];
            many.sha256d_64(pairs, &mut out);
            assert_eq!(out, expected_pairs, "{count} pairs, {}", many.name());
            many.sha256d_80(headers, &mut out);
            assert_eq!(out, expected_headers, "{count} headers, {}", many.name());
        }
    }
}

#[test]
fn a_message_in_random_parts_has_the_same_digest() {
    let mut random = Random::new(4);
    for _ in 0..500 {
        let length = random.below(1000);
        let message = random.bytes(length);
        let mut hash = Sha256::new();
        let mut rest = &message[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.below(200).min(rest.len()));
            hash.update(part);
            rest = after;
        }
        let copy = hash.clone();
        hash.update(b"more");
        assert_eq!(copy.finalize(), once(&message), "{length} bytes");
        assert_eq!(hash.finalize(), once(&[&message, &b"more"[..]].concat()));
    }
}

#[test]
#[should_panic(expected = "one place for each digest")]
fn refuses_fewer_places_than_messages() {
    ManySha256::detect().sha256d(&[b"a", b"b"], &mut [[0; 32]]);
}
