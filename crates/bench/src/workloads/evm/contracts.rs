//! Units of the precompiled contracts at several sizes of their inputs, all of which they accept.

use super::unit::Unit;
use anyhow::{Context, Result};
use blockmill_ethereum::Address;
use blockmill_ethereum::execute::evm::precompiles;
use blockmill_ethereum::params::Fork;
use blockmill_generate::ethereum::assembly::bytes;

/// Generators of the groups of alt_bn128 (EIP-197).
const BN_G1: &str = "0000000000000000000000000000000000000000000000000000000000000001\
                     0000000000000000000000000000000000000000000000000000000000000002";
const BN_G2: &str = "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2\
                     1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed\
                     090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b\
                     12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";
/// Twice the first (EIP-196).
const BN_2G1: &str = "030644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd3\
                      15ed738c0e0a7c92e7845f96b2ae9c0a68a6a449e3538fc7ff3ebf7a5a18a2c4";
/// Generators of the groups of BLS12-381, coordinate by coordinate (EIP-2537).
const BLS_G1: [&str; 2] = [
    "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905\
     a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
    "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af6\
     00db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1",
];
const BLS_G2: [&str; 4] = [
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02\
     b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
    "13e02b6052719f607dacd3a088274f65596bd0d09920b61a\
     b5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e",
    "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a7\
     6d429a695160d12c923ac9cc3baca289e193548608b82801",
    "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af\
     267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be",
];
/// A signature on secp256k1: message, parity, r, s.
const SECP256K1: &str = "18c547e4f7b0f325ad1e56f57e26c745b09a3e503d86e00e5255ff7f715d3d1c\
                         000000000000000000000000000000000000000000000000000000000000001c\
                         73b1693892219d736caba55bdb67216e485557ea6b6af75f37096c9aa6a5a75f\
                         eeb940b1d03b21e36b0e47e79769f095fe2ab855bd91e3a38756b7d75a9c4549";
/// One on P-256: message, r, s, key (EIP-7951).
const P256: &str = "4cee90eb86eaa050036147a12d49004b6b9c72bd725d39d4785011fe190f0b4d\
                    a73bd4903f0ce3b639bbbf6e8e80d16931ff4bcf5993d58468e8fb19086e8cac\
                    36dbcd03009df8c59286b162af3bd7fcc0450c9aa81be5d10d312af6c66b1d60\
                    4aebd3099c618202fcfe16ae7770b0c49ab5eadf74b754204a3bb6060e44eff3\
                    7618b065f9832de4ca6ca971a7a1adc826d0f7c00181a5fb2ddf79ae00b4e10e";
/// Versioned hash, point, value, commitment, proof (EIP-4844; go-ethereum's test vector).
const OPENING: &str = "01e798154708fe7789429634053cbf9f99b619f9f084048927333fce637f549b\
    564c0a11a0f704f4fc3e8acfe0f8245f0ad1347b378fbf96e206da11a5d36306\
    24d25032e67a7e6a4910df5834b8fe70e6bcfeeac0352434196bdf4b2485d5a1\
    8f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481b\
    c22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7\
    873033e038326e87ed3e1276fd140253fa08e9fc25fb2d9a\
    98527fc22a2c9612fbeafdad446cbc7bcdbdcd780af2c16a";

/// Names of the contracts by their numbers.
const NAMES: [(u16, &str); 18] = [
    (0x01, "ECRECOVER"),
    (0x02, "SHA256"),
    (0x03, "RIPEMD160"),
    (0x04, "IDENTITY"),
    (0x05, "MODEXP"),
    (0x06, "BN254_ADD"),
    (0x07, "BN254_MUL"),
    (0x08, "BN254_PAIRING"),
    (0x09, "BLAKE2F"),
    (0x0a, "POINT_EVALUATION"),
    (0x0b, "BLS12_G1ADD"),
    (0x0c, "BLS12_G1MSM"),
    (0x0d, "BLS12_G2ADD"),
    (0x0e, "BLS12_G2MSM"),
    (0x0f, "BLS12_PAIRING"),
    (0x10, "BLS12_MAP_FP_TO_G1"),
    (0x11, "BLS12_MAP_FP2_TO_G2"),
    (0x100, "P256VERIFY"),
];

/// The address of a precompiled contract.
pub fn address(number: u16) -> Address {
    super::accounts::numbered(u64::from(number))
}

/// The units of all precompiled contracts of a fork.
///
/// # Errors
/// A contract that no unit covers.
pub fn all(fork: Fork) -> Result<Vec<Unit>> {
    let mut all = vec![];
    for contract in precompiles(fork) {
        let known = NAMES.iter().find(|(number, _)| address(*number) == contract);
        let (number, name) = known.with_context(|| format!("no input for {contract:02x?}"))?;
        for (title, input) in inputs(*number, fork)? {
            let title = [name, title.as_str()].join(" ").trim_end().to_owned();
            let size = input.len();
            // what needs no meaning is read from the memory, which costs no call data
            let input = (*number > 4 || *number == 1).then_some(input);
            all.push(Unit::of_contract(title, contract, size, fork, input)?);
        }
    }
    Ok(all)
}

/// Inputs of a contract, each with what sets it apart.
fn inputs(number: u16, fork: Fork) -> Result<Vec<(String, Vec<u8>)>> {
    let one = |input: Vec<u8>| Ok(vec![(String::new(), input)]);
    let times = |part: &[u8], counts: &[usize], of: &str| {
        let input = |count: &usize| (format!("{count} {of}"), part.repeat(*count));
        Ok(counts.iter().map(input).collect())
    };
    let bls = |of: &[&str]| bytes(&of.iter().map(|x| format!("{x:0>128}")).collect::<String>());
    let (g1, g2) = (|| bls(&BLS_G1), || bls(&BLS_G2));
    match number {
        0x01 => one(bytes(SECP256K1)?),
        0x02..=0x04 => times(&[0], &[0, 32, 128, 1_024, 16_384], "bytes"),
        0x05 => modexp(fork),
        0x06 => one([bytes(BN_G1)?, bytes(BN_2G1)?].concat()),
        0x07 => one([bytes(BN_2G1)?, scalar(0)].concat()),
        0x08 => times(&pairs(1)?, &[0, 1, 2, 6], "pairs"),
        0x09 => [12u32, 100_000].iter().map(|rounds| Ok(blake2(*rounds))).collect(),
        0x0a => one(bytes(OPENING)?),
        0x0b => one(g1()?.repeat(2)),
        0x0d => one(g2()?.repeat(2)),
        0x0c => Ok(msm(&g1()?)),
        0x0e => Ok(msm(&g2()?)),
        0x0f => times(&[g1()?, g2()?].concat(), &[1, 2, 6], "pairs"),
        0x10 => one(bls(&BLS_G1[..1])?),
        0x11 => one(bls(&BLS_G2[..2])?),
        _ => one(bytes(P256)?),
    }
}

/// A scalar without a pattern.
fn scalar(at: usize) -> Vec<u8> {
    let mut scalar = blockmill_hashes::keccak256(&at.to_be_bytes());
    // below the order of each of the groups
    scalar[0] &= 0x1f;
    scalar.to_vec()
}

/// Sums of products of one point and so many scalars.
fn msm(point: &[u8]) -> Vec<(String, Vec<u8>)> {
    let input = |count: usize| {
        let pairs = (0..count).flat_map(|at| [point, &scalar(at)].concat());
        (format!("{count} points"), pairs.collect())
    };
    [1, 2, 16, 128].map(input).to_vec()
}

/// So many rounds of the compression (EIP-152).
fn blake2(rounds: u32) -> (String, Vec<u8>) {
    let mut input = rounds.to_be_bytes().to_vec();
    input.extend((0..208u32).map(|i| i as u8));
    input.push(1);
    (format!("{rounds} rounds"), input)
}

/// A base to a power and modulo a number, as MODEXP takes them (EIP-198).
pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let length = |number: &[u8]| {
        let mut word = [0; 32];
        word[24..].copy_from_slice(&(number.len() as u64).to_be_bytes());
        word
    };
    let lengths = [base, exponent, modulus].map(length).concat();
    [&lengths[..], base, exponent, modulus].concat()
}

/// So many pairs on alt_bn128.
///
/// # Errors
/// None that these points could cause.
pub fn pairs(count: usize) -> Result<Vec<u8>> {
    Ok([bytes(BN_2G1)?, bytes(BN_G2)?].concat().repeat(count))
}

/// Powers of all lengths that cost less than the gas of a transaction: odd and even moduli.
fn modexp(fork: Fork) -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = vec![];
    for length in [32usize, 64, 128, 256, 512, 1_024] {
        let (base, mut even) = (vec![0xff; length], vec![0xff; length]);
        even[length - 1] = 0xfe;
        for (parity, modulus) in [("odd", vec![0xff; length]), ("even", even)] {
            let title = format!("{length} bytes, {parity}, exponent of 1 byte");
            all.push((title, power(&base, &[0xff], &modulus)));
            // before EIP-2565 more would cost more gas than there is
            let most = if fork >= Fork::Berlin { 256 } else { 64 };
            if length <= most {
                let title = format!("{length} bytes, {parity}, exponent of 32 bytes");
                all.push((title, power(&base, &[0xff; 32], &modulus)));
            }
        }
    }
    Ok(all)
}
