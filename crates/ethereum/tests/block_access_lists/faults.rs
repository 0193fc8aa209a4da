//! What is said of lists that are wrong, and how long hostile ones take.

use blockmill_ethereum::access_list::{
    AccountChanges, BalanceChange, BlockAccessList, CodeChange, ListLimits, MAX_CODE_SIZE,
    NonceChange, SlotChanges, StorageChange, check,
};
use blockmill_ethereum::body::verify_access_list_hash;
use blockmill_ethereum::header::Header;
use blockmill_ethereum::rule::{Rule, Violation};
use blockmill_ethereum::{Address, U256};
use blockmill_rlp::Encode;
use std::time::Instant;

#[test]
fn a_fault_names_the_entry_and_the_byte() {
    let account = |address: u8| AccountChanges { address: [address; 20], ..Default::default() };
    let limits = ListLimits { gas_limit: 8_000, transactions: 2, code: 3 };
    let fault = |accounts: Vec<AccountChanges>| {
        let violation = check(&BlockAccessList { accounts }.encode(), &limits).unwrap_err();
        Violation::from(violation).to_string()
    };
    let short =
        |text: String| text.replace(&"11".repeat(20), "11..").replace(&"22".repeat(20), "22..");
    let one = |change: &dyn Fn(&mut AccountChanges)| {
        let mut account = account(0x11);
        change(&mut account);
        short(fault(vec![account]))
    };
    let slot =
        |slot: u64, changes: Vec<StorageChange>| SlotChanges { slot: U256::from(slot), changes };
    let write = |index| StorageChange { index, value: U256::from(5) };
    assert_eq!(
        short(fault(vec![account(0x22), account(0x11)])),
        "order of the block access list (EIP-7928): expected an address above 0x22.. for account \
         0x11.., found 0x11.. at byte 28"
    );
    assert_eq!(
        one(&|it| it.storage_changes = vec![slot(7, vec![])]),
        "change of a written slot (EIP-7928): expected a change for slot 0x7 of 0x11.., found none \
         at byte 24"
    );
    assert_eq!(
        one(&|it| it.storage_changes = vec![slot(7, vec![write(3), write(3)])]),
        "order of the block access list (EIP-7928): expected an index above 3 for slot 0x7 of \
         0x11.. at index 3, found 3 at byte 30"
    );
    assert_eq!(
        one(&|it| {
            it.storage_changes = vec![slot(7, vec![write(0)])];
            it.storage_reads = vec![U256::from(6), U256::from(7)];
        }),
        "slot read or written, not both (EIP-7928): expected a slot that is read or written for \
         read of slot 0x7 of 0x11.., found one that is both at byte 32"
    );
    assert_eq!(
        one(&|it| it.nonce_changes = vec![NonceChange { index: 4, nonce: 1 }]),
        "index in the block access list (EIP-7928): expected an index of at most 3 for nonce of \
         0x11.. at index 4, found 4 at byte 27"
    );
    assert_eq!(
        one(&|it| it.code_changes = vec![CodeChange { index: 1, code: vec![0; 4] }]),
        "code in the block access list (EIP-7928, EIP-7954): expected at most 3 bytes for code of \
         0x11.. at index 1, found 4 at byte 28"
    );
    assert_eq!(
        one(&|it| it.storage_reads = (1..5).map(U256::from).collect()),
        "size of the block access list (EIP-7928): expected at most 4 addresses and slots for a \
         gas limit of 8000 for read of slot 0x4 of 0x11.., found another one at byte 28"
    );
    let text = Violation::from(check(&[0xc1, 0x80], &limits).unwrap_err());
    assert_eq!(
        text.to_string(),
        "encoding of the block access list (EIP-7928): expected a block access list, found RLP at \
         byte 1: expected a list, found a byte string at byte 1"
    );
}

#[test]
fn hostile_lists_are_refused_in_time_that_their_bytes_bound() {
    const MANY: usize = 300_000;
    let limits = ListLimits { gas_limit: 60_000_000, transactions: 3, code: MAX_CODE_SIZE };
    let address = |number: usize| {
        let mut address: Address = [0; 20];
        address[12..].copy_from_slice(&(number as u64).to_be_bytes());
        address
    };
    let of = |accounts: Vec<AccountChanges>| BlockAccessList { accounts }.encode();
    let accounts = |number: &dyn Fn(usize) -> usize| {
        let account = |i| AccountChanges { address: address(number(i)), ..Default::default() };
        of((0..MANY).map(account).collect())
    };
    let one = |account: AccountChanges| of(vec![account]);
    let slots = |slot: &dyn Fn(usize) -> u64| (0..MANY).map(|i| U256::from(slot(i))).collect();
    let cases = [
        (accounts(&|i| i), Rule::AccessListSize),
        (accounts(&|i| MANY - i), Rule::AccessListOrder),
        (accounts(&|_| 7), Rule::AccessListOrder),
        (
            one(AccountChanges { storage_reads: slots(&|i| i as u64), ..Default::default() }),
            Rule::AccessListSize,
        ),
        (
            one(AccountChanges { storage_reads: slots(&|_| 1), ..Default::default() }),
            Rule::AccessListOrder,
        ),
        (
            one(AccountChanges {
                balance_changes: (0..MANY as u32)
                    .map(|index| BalanceChange { index, balance: U256::MAX })
                    .collect(),
                ..Default::default()
            }),
            Rule::AccessListIndex,
        ),
        (vec![0xf9, 0xff, 0xff], Rule::AccessListEncoding),
        (vec![0xff; 1 << 20], Rule::AccessListEncoding),
        (vec![0xc1; 1 << 20], Rule::AccessListEncoding),
    ];
    for (i, (list, rule)) in cases.iter().enumerate() {
        let start = Instant::now();
        assert_eq!(check(list, &limits).unwrap_err().rule, *rule, "case {i}");
        assert!(start.elapsed().as_millis() < 500, "case {i}: {:?}", start.elapsed());
    }
}

#[test]
fn the_hash_of_a_list_is_that_of_the_header_or_there_is_none() {
    let mut header = Header::default();
    let raw = header.encode();
    let rule = |header: &Header, list: &[u8]| {
        let view = header.view(&raw);
        verify_access_list_hash(&view, list).map_err(|violation| violation.rule)
    };
    assert_eq!(rule(&header, &[]), Ok(()));
    assert_eq!(rule(&header, &[0xc0]), Err(Rule::BodyAccessList));
    header.block_access_list_hash = Some(BlockAccessList::default().hash());
    assert_eq!(rule(&header, &[0xc0]), Ok(()));
    assert_eq!(rule(&header, &[0xc1, 0xc0]), Err(Rule::BodyAccessList));
}
