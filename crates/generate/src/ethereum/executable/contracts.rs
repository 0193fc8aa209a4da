//! The contracts of generated chains, in assembly.

use crate::ethereum::assembly::assemble;
use anyhow::Result;
use blockmill_ethereum::Address;
use blockmill_ethereum::params::Fork;

/// System contracts: fork, address, and code from the proposals (EIP-4788, EIP-2935, EIP-7002,
/// EIP-7251, EIP-8282, EIP-7997).
pub const SYSTEM: [(Fork, Address, &str); 7] = [
    (
        Fork::Cancun,
        [
            0x00, 0x0f, 0x3d, 0xf6, 0xd7, 0x32, 0x80, 0x7e, 0xf1, 0x31, 0x9f, 0xb7, 0xb8, 0xbb,
            0x85, 0x22, 0xd0, 0xbe, 0xac, 0x02,
        ],
        "3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560\
         495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff4206\
         4281555f359062001fff015500",
    ),
    (
        Fork::Prague,
        [
            0x00, 0x00, 0xf9, 0x08, 0x27, 0xf1, 0xc5, 0x3a, 0x10, 0xcb, 0x7a, 0x02, 0x33, 0x5b,
            0x17, 0x53, 0x20, 0x00, 0x29, 0x35,
        ],
        "3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f3560014303811160\
         4257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500",
    ),
    (
        Fork::Prague,
        [
            0x00, 0x00, 0x09, 0x61, 0xef, 0x48, 0x0e, 0xb5, 0x5e, 0x80, 0xd1, 0x9a, 0xd8, 0x35,
            0x79, 0xa6, 0x4c, 0x00, 0x70, 0x02,
        ],
        "3373fffffffffffffffffffffffffffffffffffffffe1460cb5760115f54807fffffffffffffffffffff\
         ffffffffffffffffffffffffffffffffffffffffffff146101f457600182026001905f5b5f8211156068\
         5781019083028483029004916001019190604d565b909390049250505036603814608857366101f45734\
         6101f4575f5260205ff35b34106101f45760015460010160015560035480600302600401338155600101\
         5f35815560010160203590553360601b5f5260385f601437604c5fa0600101600355005b600354600254\
         8082038060101160df575060105b5f5b8181146101835782810160030260040181604c02815460601b81\
         52601401816001015481526020019060020154807fffffffffffffffffffffffffffffffff0000000000\
         0000000000000000000000168252906010019060401c908160381c81600701538160301c816006015381\
         60281c81600501538160201c81600401538160181c81600301538160101c81600201538160081c816001\
         01535360010160e1565b910180921461019557906002556101a0565b90505f6002555f6003555b5f5480\
         7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff14156101cd57505f5b\
         6001546002828201116101e25750505f6101e8565b01600290035b5f555f600155604c025ff35b5f5ffd",
    ),
    (
        Fork::Prague,
        [
            0x00, 0x00, 0xbb, 0xdd, 0xc7, 0xce, 0x48, 0x86, 0x42, 0xfb, 0x57, 0x9f, 0x8b, 0x00,
            0xf3, 0xa5, 0x90, 0x00, 0x72, 0x51,
        ],
        "3373fffffffffffffffffffffffffffffffffffffffe1460d35760115f54807fffffffffffffffffffff\
         ffffffffffffffffffffffffffffffffffffffffffff1461019a57600182026001905f5b5f8211156068\
         5781019083028483029004916001019190604d565b9093900492505050366060146088573661019a5734\
         61019a575f5260205ff35b341061019a5760015460010160015560035480600402600401338155600101\
         5f358155600101602035815560010160403590553360601b5f5260605f60143760745fa0600101600355\
         005b6003546002548082038060021160e7575060025b5f5b818114610129578281016004026004018160\
         7402815460601b8152601401816001015481526020018160020154815260200190600301549052600101\
         60e9565b910180921461013b5790600255610146565b90505f6002555f6003555b5f54807fffffffffff\
         ffffffffffffffffffffffffffffffffffffffffffffffffffffff141561017357505f5b600154600182\
         8201116101885750505f61018e565b01600190035b5f555f6001556074025ff35b5f5ffd",
    ),
    (
        Fork::Amsterdam,
        [
            0x00, 0x00, 0xbf, 0xf4, 0x69, 0x84, 0xe3, 0x72, 0x56, 0x91, 0xfa, 0x54, 0x0a, 0x8c,
            0x75, 0x89, 0x30, 0x0d, 0x82, 0x82,
        ],
        "3373fffffffffffffffffffffffffffffffffffffffe1461011c575f54807fffffffffffffffffffffff\
         ffffffffffffffffffffffffffffffffffffffffff146102705760015460088111605257506058565b6\
         0089003015b601190600182026001905f5b5f821115607f578101908302848302900491600101919060\
         64565b90939004925050503660b814609f57366102705734610270575f5260205ff35b8034106102705\
         760383567ffffffffffffffff1680633b9aca001161027057633b9aca00029034031061027057600154\
         600101600155600354806006026004015f3581556001016020358155600101604035815560010160603\
         58155600101608035815560010160a035905560b85f5f3760b85fa0600101600355005b600354600254\
         80820380604011610131575060405b5f5b8181146101d7578281016006026004018160b802815481526\
         0200181600101548152602001816002015480825260401c67ffffffffffffffff16816010018160381c\
         81600701538160301c81600601538160281c81600501538160201c81600401538160181c81600301538\
         160101c81600201538160081c8160010153536020018160030154815260200181600401548152602001\
         90600501549052600101610133565b91018092146101e957906002556101f4565b90505f6002555f600\
         3555b36610242575f54600154817fffffffffffffffffffffffffffffffffffffffffffffffffffffff\
         ffffffffff1461023057600882820111610238575b50505f610264565b0160089003610264565b7ffff\
         fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5b5f555f60015560b8025f\
         f35b5f5ffd",
    ),
    (
        Fork::Amsterdam,
        [
            0x00, 0x00, 0x64, 0xd6, 0x78, 0x50, 0x5a, 0xd4, 0x8f, 0x8c, 0xcb, 0x09, 0x3b, 0xc6,
            0x56, 0x13, 0x80, 0x0e, 0x82, 0x82,
        ],
        "3373fffffffffffffffffffffffffffffffffffffffe1460e1575f54807fffffffffffffffffffffffff\
         ffffffffffffffffffffffffffffffffffffffff146101c65760015460028111605157506057565b600\
         29003015b601190600182026001905f5b5f821115607e57810190830284830290049160010191906063\
         565b909390049250505036603014609e57366101c657346101c6575f5260205ff35b34106101c657600\
         154600101600155600354806003026004013381556001015f35815560010160203590553360601b5f52\
         60305f60143760445fa0600101600355005b6003546002548082038060101160f5575060105b5f5b818\
         11461012d5782810160030260040181604402815460601b815260140181600101548152602001906002\
         0154905260010160f7565b910180921461013f579060025561014a565b90505f6002555f6003555b366\
         10198575f54600154817fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
         ff146101865760028282011161018e575b50505f6101ba565b01600290036101ba565b7ffffffffffff\
         fffffffffffffffffffffffffffffffffffffffffffffffffffff5b5f555f6001556044025ff35b5f5f\
         fd",
    ),
    (
        Fork::Amsterdam,
        [
            0x4e, 0x59, 0xb4, 0x48, 0x47, 0xb3, 0x79, 0x57, 0x85, 0x88, 0x92, 0x0c, 0xa7, 0x8f,
            0xbf, 0x26, 0xc0, 0xb4, 0x95, 0x6c,
        ],
        "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0360160008160208237\
         8035828234f58015156039578182fd5b8082525050506014600cf3",
    ),
];

/// A token: `transfer(address,uint256)` of ERC-20 with checked arithmetic and its event. The
/// balances are a mapping in slot 0.
pub fn token() -> Result<Vec<u8>> {
    assemble(
        "0 calldataload 224 shr 0xa9059cbb eq iszero @fail jumpi \
         36 calldataload \
         caller 0 mstore 0 32 mstore 64 0 keccak256 \
         dup1 sload dup3 dup2 lt @fail jumpi \
         dup3 swap1 sub swap1 sstore \
         4 calldataload dup1 0 mstore 64 0 keccak256 \
         dup1 sload dup4 add dup4 dup2 lt @fail jumpi \
         swap1 sstore \
         swap1 0 mstore caller \
         0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef 32 0 log3 \
         1 0 mstore 32 0 return \
         fail: 0 0 revert",
    )
}

/// Repeatedly reads three slots and changes a fourth, chosen by a hash of the input, until less
/// than 24,000 gas is left. No slot becomes 0, so nothing is refunded.
pub fn slots(count: u64) -> Result<Vec<u8>> {
    let mask = count - 1;
    assemble(&format!(
        "0 0 calldataload \
         loop: 24000 gas gt iszero @end jumpi \
         dup1 0 mstore pop 32 0 keccak256 \
         dup1 {mask} and sload dup3 add swap2 pop \
         dup1 32 shr {mask} and sload dup3 add swap2 pop \
         dup1 64 shr {mask} and sload dup3 add swap2 pop \
         dup1 96 shr {mask} and dup1 sload dup4 add 1 or swap1 sstore \
         @loop jump \
         end: stop"
    ))
}

/// Three contracts that compute on their input until less than 40,000 gas is left and store the
/// result in slot 0: hashes of 32, 256 and 2,080 bytes; arithmetic; memory.
pub fn compute() -> Result<[Vec<u8>; 3]> {
    let hashes = assemble(
        "0 calldataload 0 mstore \
         loop: 40000 gas gt iszero @end jumpi \
         32 0 keccak256 0 mstore \
         256 0 keccak256 dup1 0x7e0 and mstore \
         2080 0 keccak256 0 mstore \
         @loop jump \
         end: 0 mload 0 sstore stop",
    )?;
    let prime = "0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
    let arithmetic = assemble(&format!(
        "0 calldataload dup1 not swap1 \
         loop: 40000 gas gt iszero @end jumpi \
         {prime} 0x9e3779b97f4a7c15 dup4 dup4 mul addmod swap1 pop \
         dup1 7 shr {prime} dup4 dup4 mulmod xor swap2 pop \
         dup2 dup1 mul dup3 0xffffffffffffffff and 1 or dup3 div add swap1 pop \
         dup2 13 shl dup2 0xffffffffffffffffffffffffffffffff and 1 or dup4 sdiv add swap2 pop \
         0xfffffffb dup3 smod swap1 sub \
         5 dup2 exp dup2 100 shr 1 or dup4 mod add swap2 pop \
         @loop jump \
         end: xor 0 sstore stop"
    ))?;
    let memory = assemble(
        "0 calldataload 0 0xffe0 mstore \
         loop: 40000 gas gt iszero @end jumpi \
         0x5851f42d4c957f2d mul 0x14057b7ef767814f add \
         dup1 dup1 0xffc0 and mstore \
         dup1 17 mul 0xffc0 and mload xor \
         dup1 dup1 0xffff and mstore8 \
         @loop jump \
         end: 0 sstore stop",
    )?;
    Ok([hashes, arithmetic, memory])
}

/// Creates as many contracts as the input says and destroys every second one. Each has one non-zero
/// slot and destroys itself when called.
pub fn factory() -> Result<Vec<u8>> {
    // sstore(0, 1) and the code `caller selfdestruct`
    assemble(
        "0x60016000556133ff6000526002601ef3 0 mstore \
         0 calldataload \
         loop: dup1 iszero @end jumpi \
         16 16 0 create \
         dup2 1 and iszero @next jumpi \
         0 0 0 0 0 dup6 gas call pop \
         next: pop 1 swap1 sub @loop jump \
         end: stop",
    )
}

/// Logs its input as a deposit event (EIP-6110), if it has that length.
pub fn deposits() -> Result<Vec<u8>> {
    assemble(
        "calldatasize 576 eq iszero @end jumpi \
         576 0 0 calldatacopy \
         0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5 576 0 log1 \
         end: stop",
    )
}
