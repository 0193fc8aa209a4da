//! Withdrawals, accounts and requests: objects of fixed fields.

use crate::{encoding, ends_exactly, error};
use blockmill_rlp::ethereum::{
    Account, Consolidation, Deposit, Records, Request, Withdrawal, WithdrawalRequest, requests_hash,
};
use blockmill_rlp::{Decode, ErrorKind, RawList, U256};
use blockmill_rlp::{Encode, OnePass, Write};
use blockmill_testkit::Random;

#[test]
fn withdrawals_and_accounts_come_back() {
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let [index, validator, amount] = [0; 3].map(|_| random.any_length());
        let withdrawal = Withdrawal { index, validator, address: &random.array(), amount };
        let bytes = encoding(&withdrawal);
        assert_eq!(Withdrawal::decode(&bytes), Ok(withdrawal));
        ends_exactly::<Withdrawal<'_>>(&bytes, &mut vec![]);
        let balance = U256::from_be_bytes(random.array::<32>()) >> random.below(256);
        let (storage_root, code_hash) = (&random.array(), &random.array());
        let account = Account { nonce: random.any_length(), balance, storage_root, code_hash };
        let bytes = encoding(&account);
        assert_eq!(Account::decode(&bytes), Ok(account));
        ends_exactly::<Account<'_>>(&bytes, &mut vec![]);
    }
}

#[test]
fn wrong_fields_are_named_with_their_place() {
    let withdrawal = |fields: &[&[u8]]| {
        let mut out = OnePass::default();
        out.list(|out| fields.iter().for_each(|field| out.bytes(field)));
        out.into_bytes()
    };
    let address = [7; 20];
    let good: [&[u8]; 4] = [&[1], &[2], &address, &[3, 0xe8]];
    let found = Withdrawal { index: 1, validator: 2, address: &address, amount: 1000 };
    assert_eq!(Withdrawal::decode(&withdrawal(&good)), Ok(found));
    let wrong = |at: usize, field: &[u8]| {
        let mut fields = good;
        fields[at] = field;
        error::<Withdrawal<'_>>(&withdrawal(&fields))
    };
    assert_eq!(wrong(0, &[0]), (1, ErrorKind::LeadingZero));
    assert_eq!(wrong(1, &[9; 9]), (2, ErrorKind::TooLarge { max: 8, found: 9 }));
    for found in [19, 21] {
        let kind = ErrorKind::WrongLength { expected: 20, found };
        assert_eq!(wrong(2, &vec![7; found]), (3, kind));
    }
    let five = withdrawal(&[good[0], good[1], good[2], good[3], &[]]);
    assert_eq!(error::<Withdrawal<'_>>(&five), (27, ErrorKind::TrailingBytes { count: 1 }));
    let three = withdrawal(&good[..3]);
    let missing = ErrorKind::Truncated { needed: 1, available: 0 };
    assert_eq!(error::<Withdrawal<'_>>(&three), (24, missing));
    assert_eq!(error::<Withdrawal<'_>>(&[0x80]), (0, ErrorKind::ExpectedList));
    let nested = RawList(&[&[1], &[0xc0]]).encode();
    assert_eq!(error::<Withdrawal<'_>>(&nested), (2, ErrorKind::ExpectedBytes));
    // nonce, a balance of 33 digits
    let account = withdrawal(&[&[1], &[1; 33]]);
    assert_eq!(error::<Account<'_>>(&account), (2, ErrorKind::TooLarge { max: 32, found: 33 }));
}

/// A request that is rebuilt from decoded records has the same encoding.
fn comes_back(request: &Request<'_>) {
    let bytes = encoding(request);
    let found = Request::decode(&bytes).unwrap();
    assert_eq!(found, *request);
    match found {
        Request::Deposits(records) => {
            let records: Vec<_> = records.iter().collect();
            assert_eq!(encoding(&Request::Deposits(Records::Values(&records))), bytes);
        }
        Request::Withdrawals(records) => {
            let records: Vec<_> = records.iter().collect();
            assert_eq!(encoding(&Request::Withdrawals(Records::Values(&records))), bytes);
        }
        Request::Consolidations(records) => {
            let records: Vec<_> = records.iter().collect();
            assert_eq!(encoding(&Request::Consolidations(Records::Values(&records))), bytes);
        }
    }
    ends_exactly::<Request<'_>>(&bytes, &mut vec![]);
    let mut canonical = blockmill_rlp::Reader::new(&bytes);
    let canonical = canonical.bytes().unwrap();
    assert_eq!(Request::decode_canonical(canonical), Ok(request.clone()));
}

#[test]
fn requests_come_back() {
    let mut random = Random::new(2);
    for _ in 0..60 {
        for count in [0, 1, 3] {
            let (keys, credentials) = (random.array::<96>(), random.array());
            let (signature, source) = (random.array(), random.array());
            let [public_key, target_key] = [0, 48].map(|at| keys[at..][..48].try_into().unwrap());
            let (amount, index) = (random.any_length(), random.any_length());
            let credentials = &credentials;
            let signature = &signature;
            let deposit = Deposit { public_key, credentials, amount, signature, index };
            comes_back(&Request::Deposits(Records::Values(&vec![deposit; count])));
            let withdrawal = WithdrawalRequest { source: &source, public_key, amount };
            comes_back(&Request::Withdrawals(Records::Values(&vec![withdrawal; count])));
            let merge = Consolidation { source: &source, source_key: public_key, target_key };
            comes_back(&Request::Consolidations(Records::Values(&vec![merge; count])));
        }
    }
}

#[test]
fn requests_have_the_layout_of_the_eips() {
    let request = WithdrawalRequest { source: &[1; 20], public_key: &[2; 48], amount: 0x0102 };
    let request = [request];
    let expected = [&[1][..], &[1; 20], &[2; 48], &[2, 1, 0, 0, 0, 0, 0, 0]].concat();
    let bytes = Request::Withdrawals(Records::Values(&request)).encode();
    assert_eq!((&bytes[..2], &bytes[2..]), (&[0xb8, 77][..], &expected[..]));
    // 48 + 32 + 8 + 96 + 8, 20 + 48 + 8, 20 + 48 + 48
    for (kind, size) in [(0, 192), (1, 76), (2, 116)] {
        for len in [0, size, 2 * size] {
            let bytes = [&[kind][..], &vec![0; len]].concat();
            assert!(Request::decode_canonical(&bytes).is_ok());
            let item = encoding(&[&bytes[..], &[0]].concat());
            let kind = ErrorKind::WrongLength { expected: len + size, found: len + 1 };
            let prefix = item.len() - len - 2;
            assert_eq!(error::<Request<'_>>(&item), (prefix + 1, kind));
        }
    }
    assert_eq!(error::<Request<'_>>(&[3]), (0, ErrorKind::UnknownType { found: 3 }));
    let empty = ErrorKind::Truncated { needed: 1, available: 0 };
    assert_eq!(error::<Request<'_>>(&[0x80]), (1, empty));
}

#[test]
fn the_hash_of_requests_leaves_out_empty_ones() {
    // the hash that headers have without any requests
    let empty = blockmill_hashes::sha256(&[]);
    assert_eq!(empty[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    let none = Request::Deposits(Records::Values(&[]));
    assert_eq!(requests_hash(&[]), empty);
    assert_eq!(requests_hash(std::slice::from_ref(&none)), empty);
    let wish = WithdrawalRequest { source: &[1; 20], public_key: &[2; 48], amount: 0x0302_0100 };
    let some = Request::Withdrawals(Records::Values(&[wish]));
    let bytes = [&[1][..], &[1; 20], &[2; 48], &[0, 1, 2, 3, 0, 0, 0, 0]].concat();
    assert_eq!(some.canonical(), bytes);
    assert_eq!(Request::decode_canonical(&bytes).as_ref(), Ok(&some));
    let expected = blockmill_hashes::sha256(&blockmill_hashes::sha256(&bytes));
    assert_eq!(requests_hash(&[none, some]), expected);
}
