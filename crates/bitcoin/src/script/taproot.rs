//! Script trees of taproot (BIP341): checks that an output key commits to a script.

use super::sighash::tagged;
use super::spend::compact_size;
use blockmill_hashes::Sha256;
use blockmill_signatures::TweakCheck;

/// The leaf version of BIP342, parity bit cleared.
const TAPSCRIPT: u8 = 0xc0;
/// Maximum depth of a script tree.
const MOST_LEVELS: usize = 128;

/// The tagged hashers of leaves, branches and tweaks.
#[derive(Clone, Debug)]
pub(super) struct Tags {
    leaf: Sha256,
    branch: Sha256,
    tweak: Sha256,
}

impl Default for Tags {
    fn default() -> Self {
        Tags { leaf: tagged(b"TapLeaf"), branch: tagged(b"TapBranch"), tweak: tagged(b"TapTweak") }
    }
}

impl Tags {
    /// The hash of the leaf of `script`, with the leaf version of BIP342.
    pub fn leaf(&self, script: &[u8]) -> [u8; 32] {
        let mut hash = self.leaf.clone();
        let (length, count) = compact_size(script.len() as u64);
        hash.update(&[TAPSCRIPT]);
        hash.update(&length[..count]);
        hash.update(script);
        hash.finalize()
    }

    /// The check that `control` proves that `output_key` commits to the leaf with hash `leaf`, of
    /// the leaf version of BIP342. `None` if it is malformed.
    pub fn commitment(
        &self,
        output_key: &[u8; 32],
        control: &[u8],
        leaf: [u8; 32],
    ) -> Option<TweakCheck> {
        let (&[version], rest) = control.split_first_chunk()?;
        let (internal, path) = rest.split_first_chunk::<32>()?;
        let (path, odd) = path.as_chunks::<32>();
        if version & 0xfe != TAPSCRIPT || !odd.is_empty() || path.len() > MOST_LEVELS {
            return None;
        }
        let root = path.iter().fold(leaf, |node, other| {
            let mut hash = self.branch.clone();
            hash.update(node.min(*other).as_slice());
            hash.update(node.max(*other).as_slice());
            hash.finalize()
        });
        let mut tweak = self.tweak.clone();
        tweak.update(internal);
        tweak.update(&root);
        Some(TweakCheck {
            key: *internal,
            tweak: tweak.finalize(),
            tweaked: *output_key,
            odd: version & 1 == 1,
        })
    }
}
