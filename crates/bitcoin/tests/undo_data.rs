//! Undo data and Core's compact encoding: known bytes, there and back, and corruption.

use blockmill_bitcoin::coins::compress::{
    CoinReader, Malformed, compress_amount, expand_amount, read_varint, write_coin, write_varint,
};
use blockmill_bitcoin::types::{Amount, Coin};
use blockmill_bitcoin::undo::{self, Reader};
use blockmill_testkit::hex;

#[test]
fn numbers_are_encoded_as_cores_documentation_says() {
    let cases: [(u64, &[u8]); 10] = [
        (0, &[0x00]),
        (127, &[0x7f]),
        (128, &[0x80, 0x00]),
        (255, &[0x80, 0x7f]),
        (256, &[0x81, 0x00]),
        (16383, &[0xfe, 0x7f]),
        (16384, &[0xff, 0x00]),
        (16511, &[0xff, 0x7f]),
        (65535, &[0x82, 0xfe, 0x7f]),
        (1 << 32, &[0x8e, 0xfe, 0xfe, 0xff, 0x00]),
    ];
    for (number, expected) in cases {
        let mut bytes = Vec::new();
        write_varint(&mut bytes, number);
        assert_eq!(bytes, expected);
    }
    for bit in 0..64 {
        for number in [(1 << bit) - 1, 1 << bit, u64::MAX >> bit] {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, number);
            assert_eq!(read_varint(&mut &bytes[..], "it", u64::MAX), Ok(number));
            let less = read_varint(&mut &bytes[..], "it", number.saturating_sub(1));
            assert_eq!(less.is_ok(), number == 0);
        }
    }
    let mut large = Vec::new();
    write_varint(&mut large, u64::MAX);
    large[9] += 1;
    assert!(read_varint(&mut &large[..], "it", u64::MAX).is_err());
    assert!(read_varint(&mut &[0xff; 20][..], "it", u64::MAX).is_err());
}

#[test]
fn amounts_lose_their_zeros_and_get_them_back() {
    let coin = 100_000_000;
    let known = [
        (0, 0),
        (1, 1),
        (1_000_000, 7),
        (coin, 9),
        (50 * coin, 50),
        (21_000_000 * coin, 21_000_000),
    ];
    for (amount, compressed) in known {
        assert_eq!(compress_amount(Amount::from_sat(amount)), compressed);
    }
    let (mut random, most) = (1u64, Amount::MAX.to_sat());
    for i in 0..100_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let amount = (random >> (i % 64)) % (most + 1) / 10u64.pow(i % 10) * 10u64.pow(i % 10);
        let amount = Amount::from_sat(amount);
        assert_eq!(expand_amount(compress_amount(amount)), Some(amount));
    }
    assert_eq!(expand_amount(compress_amount(Amount::from_sat(most + 1))), None);
    assert_eq!(expand_amount(u64::MAX), None);
}

/// The generator of the curve, as an uncompressed key.
const KEY: &str = "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798\
                   483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";

/// Scripts, and the size of their encoding.
fn scripts() -> Vec<(Vec<u8>, usize)> {
    let (key, hash) = (hex::decode(KEY), [7; 20]);
    let pay_to_key = |key: &[u8]| [&[key.len() as u8], key, &[0xac]].concat();
    let mut off = key.clone();
    off[64] ^= 1;
    let mut hybrid = key.clone();
    hybrid[0] = 6;
    let mut compressed = key[..33].to_vec();
    compressed[0] = 2;
    let odd = [&[3], &compressed[1..]].concat();
    vec![
        (vec![], 1),
        ([&[0x76, 0xa9, 20][..], &hash, &[0x88, 0xac]].concat(), 21),
        ([&[0xa9, 20][..], &hash, &[0x87]].concat(), 21),
        (pay_to_key(&compressed), 33),
        (pay_to_key(&odd), 33),
        (pay_to_key(&key), 33),
        // near misses: another last byte, one byte more, points off the curve, other forms
        ([&[0x76, 0xa9, 20][..], &hash, &[0x88, 0xad]].concat(), 26),
        ([&[0x76, 0xa9, 20][..], &hash, &[0x88, 0xac, 0]].concat(), 27),
        ([&[0xa9, 20][..], &hash, &[0x88]].concat(), 24),
        (pay_to_key(&off), 68),
        (pay_to_key(&hybrid), 68),
        (pay_to_key(&key[..33]), 36),
        ([&[0, 20][..], &hash].concat(), 23),
        (vec![0x51; 121], 122),
        (vec![0x51; 122], 124),
        (vec![0x51; 10_000], 10_002),
    ]
}

#[test]
fn scripts_come_back_and_usual_ones_are_short() {
    let mut reader = CoinReader::default();
    for (script, size) in scripts() {
        let coin = Coin { height: 5, coinbase: true, value: Amount::from_sat(0), script: &script };
        let mut bytes = Vec::new();
        write_coin(&mut bytes, &coin);
        assert_eq!(bytes.len(), size + 2, "{script:02x?}");
        assert_eq!(reader.read(&bytes), Ok(coin));
        for cut in 0..bytes.len() {
            assert!(reader.read(&bytes[..cut]).is_err());
        }
        bytes.push(0);
        assert!(matches!(reader.read(&bytes), Err(Malformed::Trailing { .. })));
    }
    let mut five = [0; 35];
    // x = 5 is on no point of the curve
    (five[2], five[34]) = (4, 5);
    assert_eq!(reader.read(&five), Err(Malformed::NotOnCurve));
    // a script of 10,001 bytes
    let mut long = vec![0, 0];
    write_varint(&mut long, 10_007);
    long.resize(20_000, 0);
    assert!(matches!(reader.read(&long), Err(Malformed::TooLarge { .. })));
}

/// Height, coinbase, satoshis, script.
type Owned = (u32, bool, u64, Vec<u8>);

/// Undo data of transactions that spend these numbers of coins.
fn sample(counts: &[usize]) -> (Vec<Owned>, Vec<u8>) {
    let scripts = scripts();
    let coins: Vec<_> = (0..counts.iter().sum())
        .map(|i| {
            let script = scripts[i * 7 % scripts.len()].0.clone();
            (i as u32 * 977 % 9, i % 3 == 0, i as u64 * 12_345_000, script)
        })
        .collect();
    let mut data = b"what was there".to_vec();
    let start = data.len();
    undo::encode(counts.iter().copied(), coins.iter().map(coin), &mut data).unwrap();
    (coins, data.split_off(start))
}

fn coin((height, coinbase, value, script): &Owned) -> Coin<'_> {
    Coin { height: *height, coinbase: *coinbase, value: Amount::from_sat(*value), script }
}

/// Reads all undo data; the number of coins of each transaction.
fn read(data: &[u8], mut each: impl FnMut(Coin)) -> Result<Vec<usize>, Malformed> {
    let (mut reader, mut counts) = (Reader::new(data)?, Vec::new());
    while let Some(count) = reader.transaction()? {
        counts.push(count as usize);
        for _ in 0..count {
            each(reader.coin()?);
        }
    }
    Ok(counts)
}

#[test]
fn undo_data_comes_back() {
    let many = vec![1; 300];
    for counts in [&[][..], &[0], &[1], &[3, 0, 2], &[252, 253, 1], &many] {
        let (coins, data) = sample(counts);
        let mut expected = coins.iter().map(coin);
        let found = read(&data, |coin| assert_eq!(Some(coin), expected.next()));
        assert_eq!(found.as_deref(), Ok(counts));
        assert_eq!(expected.next(), None);
    }
}

#[test]
fn counts_that_do_not_agree_are_refused() {
    let (coins, _) = sample(&[3, 2]);
    for counts in [&[3, 1][..], &[3, 3], &[]] {
        let mut out = vec![1, 2, 3];
        let result = undo::encode(counts.iter().copied(), coins.iter().map(coin), &mut out);
        assert!(matches!(result, Err(Malformed::Count { .. })), "{counts:?}");
        assert_eq!(out, [1, 2, 3]);
    }
    let (_, data) = sample(&[2]);
    let mut reader = Reader::new(&data).unwrap();
    assert!(reader.coin().is_err());
    reader.transaction().unwrap();
    assert!(reader.transaction().is_err());
    // more transactions than bytes, and a count that is not the shortest
    assert!(Reader::new(&[0xfe, 0xff, 0xff, 0xff, 0xff]).is_err());
    assert!(Reader::new(&[0xfd, 1, 0, 0, 0]).is_err());
}

#[test]
fn corrupt_undo_data_is_refused_or_read_as_something_else() {
    let (_, data) = sample(&[5, 0, 20]);
    for at in 0..data.len() {
        assert!(read(&data[..at], |_| ()).is_err(), "cut at {at}");
        for bit in 0..8 {
            let mut bad = data.clone();
            bad[at] ^= 1 << bit;
            let _ = read(&bad, |coin| assert!(coin.value.is_in_range()));
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_spent_outputs_come_back() {
    for name in ["bcoin-block300025-undo.raw", "bcoin-block928816-undo.raw"] {
        let bytes = blockmill_testkit::read(format!("bitcoin/undo/{name}"));
        let (mut rest, mut coins) = (&bytes[..], Vec::new());
        while let Some((value, after)) = rest.split_first_chunk() {
            let (length, after) = (usize::from(after[0]), &after[1..]);
            assert!(length < 0xfd);
            let (script, after) = after.split_at(length);
            let height = 300_000 - coins.len() as u32;
            coins.push((height, false, u64::from_le_bytes(*value), script.to_vec()));
            rest = after;
        }
        let mut data = Vec::new();
        undo::encode([coins.len()].into_iter(), coins.iter().map(coin), &mut data).unwrap();
        println!("{name}: {} coins, {} bytes, {} as undo", coins.len(), bytes.len(), data.len());
        assert!(coins.len() > 200, "{name}: {} coins", coins.len());
        let mut expected = coins.iter().map(coin);
        read(&data, |coin| assert_eq!(Some(coin), expected.next())).unwrap();
        assert_eq!(expected.next(), None);
    }
}
