//! Headers under clique, proof of authority (EIP-225): the rules that a header and its parent
//! decide, and who signed a block.
//!
//! Who may sign follows from the votes in all blocks since the last checkpoint. It is not checked.

use super::rules::Verdict;
use super::{EMPTY_OMMERS, HeaderView};
use crate::body::signing::address_of;
use crate::params::Clique;
use crate::rule::{Rule, Violation};
use crate::{Address, U256};
use blockmill_rlp::Encode as _;
use blockmill_verdict::Hex;

/// Bytes of the extra data before the signers of a checkpoint.
const VANITY: usize = 32;
/// Bytes of the signature at the end of the extra data: r, s and the parity of y.
const SIGNATURE: usize = 65;
/// Nonce of a vote for a new signer. Without a vote, or with one against a signer, it is 0.
const VOTE_FOR: [u8; 8] = [0xff; 8];

/// The rules that hold whatever the parent is.
pub(super) fn alone(clique: Clique, header: &HeaderView<'_>) -> Verdict {
    let is_checkpoint = header.number.is_multiple_of(clique.epoch);
    extra_data(is_checkpoint, header.extra_data)?;
    if !is_vote(header.nonce) || is_checkpoint && *header.nonce != [0; 8] {
        let expected = if is_checkpoint { "0" } else { "0 or 0xffffffffffffffff" };
        return Err(Violation::new(Rule::CliqueVote, expected, Hex(header.nonce)));
    }
    if is_checkpoint && *header.beneficiary != [0; 20] {
        let expected = "no vote in a checkpoint";
        return Err(Violation::new(Rule::CliqueVote, expected, Hex(header.beneficiary)));
    }
    if *header.mix_hash != [0; 32] {
        return Err(Violation::new(Rule::CliqueMixHash, "0", Hex(header.mix_hash)));
    }
    if *header.ommers_hash != EMPTY_OMMERS {
        let (expected, found) = (Hex(&EMPTY_OMMERS), Hex(header.ommers_hash));
        return Err(Violation::new(Rule::CliqueOmmers, expected, found));
    }
    if header.difficulty != U256::ONE && header.difficulty != U256::from(2) {
        return Err(Violation::new(Rule::CliqueDifficulty, "1 or 2", header.difficulty));
    }
    Ok(())
}

fn is_vote(nonce: &[u8; 8]) -> bool {
    *nonce == [0; 8] || *nonce == VOTE_FOR
}

/// 32 bytes that the signer chooses, in a checkpoint the addresses of all signers, a signature.
fn extra_data(is_checkpoint: bool, extra_data: &[u8]) -> Verdict {
    let fits = match extra_data.len().checked_sub(VANITY + SIGNATURE) {
        Some(signers) if is_checkpoint => signers > 0 && signers.is_multiple_of(20),
        Some(signers) => signers == 0,
        None => false,
    };
    if fits {
        return Ok(());
    }
    let expected =
        if is_checkpoint { "97 bytes and 20 for each signer, of a checkpoint" } else { "97 bytes" };
    let found = format!("{} bytes", extra_data.len());
    Err(Violation::new(Rule::CliqueExtraData, expected, found))
}

/// At least the period later than the parent.
pub(super) fn timestamp(clique: Clique, parent: u64, timestamp: u64) -> Verdict {
    let earliest = parent.saturating_add(clique.period);
    if timestamp < earliest {
        let expected = format!("at least {earliest}");
        return Err(Violation::new(Rule::CliquePeriod, expected, timestamp));
    }
    Ok(())
}

/// The account that signed a block: it gets the fees. What it signed is the header without
/// signature.
///
/// # Errors
/// The extra data has no signature, or no key made it.
pub fn signer(header: &HeaderView<'_>) -> Result<Address, Violation> {
    let refused =
        |found: String| Violation::new(Rule::CliqueSignature, "65 bytes: r, s, and 0 or 1", found);
    let Some((_, signature)) = header.extra_data.split_last_chunk::<SIGNATURE>() else {
        return Err(refused(format!("{} bytes of extra data", header.extra_data.len())));
    };
    let mut unsigned = header.to_owned();
    unsigned.extra_data.truncate(header.extra_data.len() - SIGNATURE);
    let hash = blockmill_hashes::keccak256(&unsigned.encode());
    let mut parts = [[0; 32]; 2];
    for (part, bytes) in parts.iter_mut().zip(signature.chunks_exact(32)) {
        part.copy_from_slice(bytes);
    }
    let parity = match signature[SIGNATURE - 1] {
        0 => false,
        1 => true,
        _ => return Err(refused(Hex(signature).to_string())),
    };
    blockmill_signatures::recover(&hash, &parts[0], &parts[1], parity)
        .map(|key| address_of(&key))
        .map_err(|_| refused(Hex(signature).to_string()))
}
