//! The networks of block files, identified by the magic before each block.

use blockmill_verdict::Digits;
use std::fmt;

use blockmill_hashes::sha256d;

/// A network. Its magic is also that of its peer-to-peer messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// The main network.
    Mainnet,
    /// The third test network.
    Testnet3,
    /// The fourth test network (BIP94).
    Testnet4,
    /// The signed test network with the usual challenge (BIP325), or with another one, which
    /// has a magic of its own.
    Signet {
        /// The first four bytes of SHA-256d of the challenge with its length in front.
        magic: [u8; 4],
    },
    /// A local test network with next to no work.
    Regtest,
}

/// The magic of the signet that everybody means.
const SIGNET_MAGIC: [u8; 4] = [0x0a, 0x03, 0xcf, 0x40];

/// Times (seconds since 1970) since when the difficulty of the main network was never below the
/// number; half of the lowest that it had.
const LEAST_DIFFICULTIES: [(u32, f64); 9] = [
    (1_283_299_200, 256.0),
    (1_309_478_400, 4e5),
    (1_372_636_800, 1e7),
    (1_404_172_800, 8e9),
    (1_451_606_400, 5e10),
    (1_514_764_800, 9e11),
    (1_577_836_800, 6.5e12),
    (1_640_995_200, 1.2e13),
    (1_704_067_200, 3.5e13),
];
/// The public test networks had no block of more difficulty.
const MOST_OF_TESTNETS: f64 = 1e12;
/// No signet had.
const MOST_OF_SIGNETS: f64 = 1e4;

impl Network {
    /// The signet that everybody means.
    pub const SIGNET: Self = Self::Signet { magic: SIGNET_MAGIC };

    /// The networks with a name.
    pub const NAMED: [Self; 5] =
        [Self::Mainnet, Self::Testnet3, Self::Testnet4, Self::SIGNET, Self::Regtest];

    /// A signet with a challenge of its own: the script that blocks are signed for (BIP325).
    #[must_use]
    pub fn custom_signet(challenge: &[u8]) -> Self {
        let mut script = Vec::with_capacity(challenge.len() + 5);
        match u8::try_from(challenge.len()) {
            Ok(short) if short < 0xfd => script.push(short),
            _ if challenge.len() <= 0xffff => {
                script.push(0xfd);
                script.extend_from_slice(&(challenge.len() as u16).to_le_bytes());
            }
            _ => {
                script.push(0xfe);
                script.extend_from_slice(&(challenge.len() as u32).to_le_bytes());
            }
        }
        script.extend_from_slice(challenge);
        let [a, b, c, d, ..] = sha256d(&script);
        Self::Signet { magic: [a, b, c, d] }
    }

    /// The four bytes in front of each block.
    #[must_use]
    pub fn magic(self) -> [u8; 4] {
        match self {
            Self::Mainnet => [0xf9, 0xbe, 0xb4, 0xd9],
            Self::Testnet3 => [0x0b, 0x11, 0x09, 0x07],
            Self::Testnet4 => [0x1c, 0x16, 0x3f, 0x28],
            Self::Signet { magic } => magic,
            Self::Regtest => [0xfa, 0xbf, 0xb5, 0xda],
        }
    }

    /// The hash of the genesis block. All signets have the same one.
    pub(super) fn genesis_hash(self) -> [u8; 32] {
        let (high, low): (u128, u128) = match self {
            Self::Mainnet => (
                0x0000_0000_0019_d668_9c08_5ae1_6583_1e93,
                0x4ff7_63ae_46a2_a6c1_72b3_f1b6_0a8c_e26f,
            ),
            Self::Testnet3 => (
                0x0000_0000_0933_ea01_ad0e_e984_2097_79ba,
                0xaec3_ced9_0fa3_f408_7195_26f8_d77f_4943,
            ),
            Self::Testnet4 => (
                0x0000_0000_da84_f2ba_fbbc_53de_e25a_72ae,
                0x507f_f491_4b86_7c56_5be3_50b0_da8b_f043,
            ),
            Self::Signet { .. } => (
                0x0000_0008_8198_73e9_2542_2c1f_f0f9_9f7c,
                0xc9bb_b232_af63_a077_a480_a363_3bee_1ef6,
            ),
            Self::Regtest => (
                0x0f91_88f1_3cb7_b2c7_1f2a_335e_3a4f_c328,
                0xbf5b_eb43_6012_afca_590b_1a11_466e_2206,
            ),
        };
        let mut hash = [0; 32];
        hash[..16].copy_from_slice(&low.to_le_bytes());
        hash[16..].copy_from_slice(&high.to_le_bytes());
        hash
    }

    /// The named network with this magic.
    #[must_use]
    pub fn from_magic(magic: [u8; 4]) -> Option<Self> {
        Self::NAMED.into_iter().find(|network| network.magic() == magic)
    }

    /// The named network that users call so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "mainnet" | "main" => Some(Self::Mainnet),
            "testnet3" | "testnet" | "test" => Some(Self::Testnet3),
            "testnet4" => Some(Self::Testnet4),
            "signet" => Some(Self::SIGNET),
            "regtest" => Some(Self::Regtest),
            _ => None,
        }
    }

    /// The folder of a datadir that holds the network's `blocks`; the main network has none.
    #[must_use]
    pub fn folder(self) -> Option<&'static str> {
        match self {
            Self::Mainnet => None,
            Self::Testnet3 => Some("testnet3"),
            Self::Testnet4 => Some("testnet4"),
            Self::Signet { .. } => Some("signet"),
            Self::Regtest => Some("regtest"),
        }
    }

    /// The easiest target of the network, as in a header's `bits`.
    pub(super) fn easiest_bits(self) -> u32 {
        match self {
            Self::Mainnet | Self::Testnet3 | Self::Testnet4 => 0x1d00_ffff,
            Self::Signet { .. } => 0x1e03_77ae,
            Self::Regtest => 0x207f_ffff,
        }
    }

    /// Whether a block with this header can belong to the network, by proof of work and difficulty.
    /// If there is no magic, the difficulty often decides: on the main network it never fell to its
    /// first value again, on the test networks it never rose as high, and regtest has a single one.
    #[must_use]
    pub fn could_have(self, header: &[u8; 80]) -> bool {
        let number = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (time, bits) = (number(68), number(72));
        let difficulty = difficulty(bits);
        let is_likely = match self {
            Self::Mainnet => {
                let since = LEAST_DIFFICULTIES.iter().rev().find(|(since, _)| *since <= time);
                since.is_none_or(|(_, least)| difficulty >= *least)
            }
            Self::Testnet3 | Self::Testnet4 => difficulty <= MOST_OF_TESTNETS,
            Self::Signet { .. } => difficulty <= MOST_OF_SIGNETS,
            Self::Regtest => bits == self.easiest_bits(),
        };
        is_likely && self.is_proof_of_work(header)
    }

    /// Whether the header's hash is below its target, and the target is one of the network.
    pub(super) fn is_proof_of_work(self, header: &[u8; 80]) -> bool {
        let bits = u32::from_le_bytes([header[72], header[73], header[74], header[75]]);
        let (Some(target), Some(easiest)) = (target(bits), target(self.easiest_bits())) else {
            return false;
        };
        let mut hash = sha256d(header);
        hash.reverse();
        target <= easiest && hash <= target
    }
}

/// The difficulty of a header's `bits`, relative to the easiest target of the main network.
fn difficulty(bits: u32) -> f64 {
    let (exponent, mantissa) = ((bits >> 24) as i32, f64::from(bits & 0x007f_ffff));
    f64::from(0xffff) / mantissa * 256f64.powi(0x1d - exponent)
}

/// The target of a header's `bits` as 32 bytes, the highest first; `None` for one that is zero,
/// negative or above 256 bits.
fn target(bits: u32) -> Option<[u8; 32]> {
    let (exponent, mantissa) = ((bits >> 24) as usize, bits & 0x007f_ffff);
    if mantissa == 0 || bits & 0x0080_0000 != 0 {
        return None;
    }
    let mut target = [0; 32];
    for (i, byte) in mantissa.to_be_bytes()[1..].iter().enumerate() {
        // byte i of the mantissa is exponent - 1 - i bytes above the lowest byte
        match exponent.checked_sub(1 + i) {
            Some(from_end) if from_end < 32 => target[31 - from_end] = *byte,
            Some(_) if *byte != 0 => return None,
            _ => {}
        }
    }
    (target != [0; 32]).then_some(target)
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mainnet => f.write_str("mainnet"),
            Self::Testnet3 => f.write_str("testnet3"),
            Self::Testnet4 => f.write_str("testnet4"),
            Self::Signet { magic } if *magic == SIGNET_MAGIC => f.write_str("signet"),
            Self::Signet { magic } => write!(f, "signet with magic {}", Digits(magic)),
            Self::Regtest => f.write_str("regtest"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The challenge of the usual signet (BIP325): 1 of 2 keys.
    const CHALLENGE: &str = "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be4\
        30210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae";

    #[test]
    fn the_usual_signet_has_the_magic_of_its_challenge() {
        let digits = CHALLENGE.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let challenge: Vec<u8> = digits.map(byte).collect();
        assert_eq!(Network::custom_signet(&challenge), Network::SIGNET);
        assert_ne!(Network::custom_signet(&challenge[1..]), Network::SIGNET);
        assert_ne!(Network::custom_signet(&[0x51; 300]), Network::custom_signet(&[0x51; 301]));
    }

    #[test]
    fn magics_and_names_go_there_and_back() {
        for network in Network::NAMED {
            assert_eq!(Network::from_magic(network.magic()), Some(network));
            assert_eq!(Network::from_name(&network.to_string()), Some(network));
        }
        assert_eq!(Network::from_magic(*b"blok"), None);
        assert_eq!(Network::from_name("litecoin"), None);
    }

    #[test]
    fn targets_are_those_of_the_bits() {
        let full = target(0x1d00_ffff).unwrap();
        assert_eq!((&full[..4], &full[4..6], full[6]), (&[0; 4][..], &[0xff; 2][..], 0));
        assert_eq!(target(0x0300_0001).unwrap()[31], 1);
        assert_eq!(target(0x0200_0100).unwrap()[31], 1);
        for bits in [0, 0x1d80_ffff, 0x2300_ffff, 0x2200_ff00 + 0x0100_0000, 0xff00_0001] {
            assert_eq!(target(bits).filter(|_| bits != 0x2200_ffff), None, "{bits:#x}");
        }
    }
}
