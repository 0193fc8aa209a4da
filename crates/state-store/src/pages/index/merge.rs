//! Applying a section to the trie that older sections describe. Children of a branch that the
//! section does not give stay; if no older section gave them, a later one will.

use super::END;
use crate::pages::{
    branch_record::{self, BRANCH, CELL, EVICTED},
    branches::{Arena, Branch, Child},
};
use blockmill_store::part::Fields;

/// The old child at and below a place, and the number of nibbles of its branch's path above the
/// place.
type Old = Option<(Child, usize)>;

/// The origin of the branch of a section.
enum Base {
    /// The old branch.
    Same(Branch),
    /// A new branch, which gets the old one under a nibble.
    Above(u8, Old),
    New,
}

pub(super) struct Merge<'a, 'b> {
    pub arena: &'a mut Arena,
    pub fields: &'a mut Fields<'b>,
}

impl Merge<'_, '_> {
    /// Decodes the child after its first byte, this many nibbles below the root; `None` if the
    /// bytes are no child.
    pub fn child(&mut self, head: u8, old: Old, depth: usize) -> Option<Child> {
        let reference = branch_record::read_reference(head, self.fields)?;
        let child = match branch_record::kind(head) {
            kind @ (CELL | EVICTED) => {
                old.iter().for_each(|(old, _)| self.arena.free(old));
                branch_record::read_place(kind, self.fields)?
            }
            BRANCH => {
                let branch = self.branch(old, depth)?;
                Child::branch(self.arena.add(branch)?)
            }
            _ => return None,
        };
        Some(child.with(reference))
    }

    fn branch(&mut self, old: Old, depth: usize) -> Option<Branch> {
        let len = usize::from(self.fields.byte()?);
        let parting = depth + len;
        if parting >= 64 {
            return None;
        }
        let path = self.fields.bytes(len)?;
        let mask = u16::from_le_bytes(self.fields.array()?);
        let (mut branch, mut above) = match self.base(old, path) {
            Base::Same(branch) => (branch, None),
            Base::Above(nibble, old) => (Branch::new(path), Some((nibble, old))),
            Base::New => (Branch::new(path), None),
        };
        branch.path = path.into();
        let mut next = 0;
        loop {
            let head = self.fields.byte()?;
            if head == END {
                break;
            }
            let nibble = head & 15;
            if nibble < next || mask >> nibble & 1 == 0 {
                return None;
            }
            next = nibble + 1;
            let old = match above.take_if(|(own, _)| *own == nibble) {
                Some((_, old)) => old,
                None => branch.get(nibble).map(|child| (*child, 0)),
            };
            branch.set(nibble, Some(self.child(head, old, parting + 1)?));
        }
        if let Some((_, Some((old, _)))) = above {
            self.arena.free(&old);
        }
        for nibble in 0..16 {
            match (mask >> nibble & 1 == 1, branch.get(nibble).copied()) {
                (true, None) => branch.set(nibble, Some(Child::MISSING)),
                (false, Some(child)) => {
                    self.arena.free(&child);
                    branch.set(nibble, None);
                }
                _ => {}
            }
        }
        Some(branch)
    }

    /// The origin of a branch after `path`. Everything that is not below it is removed.
    fn base(&mut self, mut old: Old, mut path: &[u8]) -> Base {
        while let Some((child, skip)) = old {
            let Some(at) = child.branch_at() else { return Base::New };
            let rest = self.arena.get(at).path.get(skip..).unwrap_or_default();
            let common = rest.iter().zip(path).take_while(|(a, b)| a == b).count();
            match (rest.get(common).copied(), path.get(common).copied()) {
                (None, None) => return Base::Same(self.arena.take(at)),
                // the branch is new, and above this one
                (Some(half), None) => return Base::Above(half, Some((child, skip + common + 1))),
                // one child of this branch is left, which is below the place now
                (None, Some(half)) => {
                    let mut branch = self.arena.take(at);
                    old = branch.get(half).map(|child| (*child, 0));
                    branch.set(half, None);
                    branch.children().for_each(|(_, child)| self.arena.free(child));
                    path = &path[common + 1..];
                }
                (Some(_), Some(_)) => {
                    self.arena.free(&child);
                    return Base::New;
                }
            }
        }
        Base::New
    }
}
