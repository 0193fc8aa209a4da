//! Signature checks of precompiled contracts by `blockmill_signatures`, which the engine uses for
//! senders anyway: `revm` would bring a second libsecp256k1 and, for P-256, a slower library.

use blockmill_hashes::keccak256;
use blockmill_signatures::{EcdsaCheck, Key, recover, verify_p256};
use revm::precompile::{Crypto, PrecompileHalt};
use std::sync::Once;

/// Provides ECRECOVER and P256VERIFY to `revm`; other operations are its own.
#[derive(Debug)]
struct Provider;

impl Crypto for Provider {
    fn secp256k1_ecrecover(
        &self,
        signature: &[u8; 64],
        recovery_id: u8,
        digest: &[u8; 32],
    ) -> Result<[u8; 32], PrecompileHalt> {
        let [r, s] = halves(signature);
        let key = recover(digest, &r, &s, recovery_id == 1);
        let mut hash = keccak256(&key.map_err(|_| PrecompileHalt::Secp256k1RecoverFailed)?);
        hash[..12].fill(0);
        Ok(hash)
    }

    fn secp256r1_verify_signature(
        &self,
        digest: &[u8; 32],
        signature: &[u8; 64],
        key: &[u8; 64],
    ) -> bool {
        let [r, s] = halves(signature);
        let mut uncompressed = [4; 65];
        uncompressed[1..].copy_from_slice(key);
        verify_p256(&EcdsaCheck { digest: *digest, r, s, key: Key::Uncompressed(uncompressed) })
    }
}

fn halves(signature: &[u8; 64]) -> [[u8; 32]; 2] {
    let (mut r, mut s) = ([0; 32], [0; 32]);
    r.copy_from_slice(&signature[..32]);
    s.copy_from_slice(&signature[32..]);
    [r, s]
}

/// Sets the provider for all machines of the process; later calls do nothing.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    // false if a provider was installed before: nobody else installs one
    ONCE.call_once(|| {
        revm::install_crypto(Provider);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_testkit::Random;
    use revm::precompile::DefaultCrypto;

    /// Words at the bounds of what a signature's numbers can be, and any.
    fn word(random: &mut Random) -> [u8; 32] {
        let mut word = [0; 32];
        match random.below(4_u8) {
            0 => word[31] = random.below(3_u8),
            1 => word = [0xff; 32],
            _ => random.fill(&mut word),
        }
        word
    }

    #[test]
    fn ecrecover_has_the_answers_of_the_library_of_revm() {
        let (mut random, mut recovered) = (Random::new(1), 0);
        for _ in 0..400 {
            let (r, s, digest) = (word(&mut random), word(&mut random), word(&mut random));
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&r);
            signature[32..].copy_from_slice(&s);
            let id = random.below(2_u8);
            let ours = Provider.secp256k1_ecrecover(&signature, id, &digest).ok();
            let theirs = DefaultCrypto.secp256k1_ecrecover(&signature, id, &digest).ok();
            assert_eq!(ours, theirs, "{signature:02x?} {id} {digest:02x?}");
            recovered += u32::from(ours.is_some());
        }
        assert!((40..360).contains(&recovered), "{recovered}");
    }
}
