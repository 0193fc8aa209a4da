//! The nodes below the references: written and hashed again from the entries whenever a cell
//! changes, many cells at once, so that the lanes of the CPU are full.

use blockmill_trie::codec::{BranchParts, Codec, Column, Ethereum, LeafParts};
use blockmill_trie::nibbles::{common_prefix, nibble};

use super::{
    cell::{Entry, by_nibble},
    key::{Form, Reference},
};

/// Half-bytes of a key.
const NIBBLES: usize = 64;

/// Where the reference of a node goes.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// It is the top of a subtree.
    Top(u32),
    /// Into a branch, under a nibble.
    Branch(u32, u8),
}

/// A branch whose children are being hashed.
#[derive(Debug)]
struct Node {
    /// A key below it.
    key: [u8; 32],
    /// Half-bytes that lead to it from its parent begin here.
    start: u8,
    mask: u16,
    inline: u16,
    /// Where its references begin.
    references: u32,
    place: Place,
}

/// Hashes all nodes and calls `each` with their numbers and references, then forgets them.
pub(super) fn drain(column: &mut Column, codec: &Ethereum, mut each: impl FnMut(usize, Reference)) {
    column.hash(codec);
    for (i, hash) in column.hashes.iter().enumerate() {
        each(i, Reference::from_node(&column.bytes[column.range(i)], *hash));
    }
    column.clear();
}

/// Subtrees that are hashed together. Their memory is kept for the next ones.
#[derive(Debug)]
pub(super) struct Subtrees {
    codec: Ethereum,
    /// Whose references the leaves are.
    leaves: Vec<Place>,
    nodes: Vec<Node>,
    references: Vec<[u8; 32]>,
    /// Branches by the nibble that parts their children.
    levels: Vec<Vec<u32>>,
    column: Column,
    /// Extensions above the branches of a level.
    extensions: (Column, Vec<u32>),
    tops: Vec<Reference>,
}

impl Subtrees {
    pub fn new(codec: Ethereum) -> Self {
        Self {
            codec,
            leaves: vec![],
            nodes: vec![],
            references: vec![],
            levels: vec![vec![]; NIBBLES],
            column: Column::default(),
            extensions: <_>::default(),
            tops: vec![],
        }
    }

    /// Adds the subtree of these entries, at least one, `depth` nibbles below the root of its trie.
    pub fn push(&mut self, entries: &[Entry<'_>], depth: usize) {
        let top = Place::Top(self.tops.len() as u32);
        self.tops.push(Reference::PENDING);
        self.build(entries, depth, top);
    }

    /// How many subtrees wait.
    pub fn len(&self) -> usize {
        self.tops.len()
    }

    fn build(&mut self, entries: &[Entry<'_>], depth: usize, place: Place) {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        let parting = common_prefix(&first.key, &last.key);
        if entries.len() == 1 || parting >= NIBBLES {
            let tail = if first.cut { Ethereum::COMMON_TAIL } else { &[] };
            let leaf = LeafParts { key: &first.key, depth, value: [&first.value, tail] };
            self.codec.leaf(&leaf, &mut self.column.bytes);
            self.column.end();
            self.leaves.push(place);
            return;
        }
        let number = self.nodes.len() as u32;
        let mask = entries.iter().fold(0, |mask, entry| mask | 1 << nibble(&entry.key, parting));
        let references = self.references.len();
        self.references.resize(references + mask_count(mask), [0; 32]);
        let (start, references) = (depth as u8, references as u32);
        self.nodes.push(Node { key: first.key, start, mask, inline: 0, references, place });
        self.levels[parting].push(number);
        for (nibble, group) in by_nibble(entries, parting, |entry| &entry.key) {
            self.build(group, parting + 1, Place::Branch(number, nibble));
        }
    }

    /// Hashes all subtrees; their references in the order in which they were pushed.
    pub fn hash(&mut self, mut each: impl FnMut(usize, Reference)) {
        let Self { codec, leaves, nodes, references, levels, column, extensions, tops } = self;
        let mut place_reference =
            |place: Place, reference: Reference, nodes: &mut [Node], all: &mut [[u8; 32]]| {
                match place {
                    Place::Top(at) => tops[at as usize] = reference,
                    Place::Branch(at, nibble) => {
                        let node = &mut nodes[at as usize];
                        let rank = mask_count(node.mask & ((1 << nibble) - 1));
                        all[node.references as usize + rank] = reference.bytes;
                        node.inline |= u16::from(reference.form == Form::Inline) << nibble;
                    }
                }
            };
        drain(column, codec, |i, reference| {
            place_reference(leaves[i], reference, nodes, references)
        });
        for (depth, level) in levels.iter_mut().enumerate().rev().filter(|(_, l)| !l.is_empty()) {
            for number in level.iter() {
                let node = &nodes[*number as usize];
                let start = node.references as usize;
                let parts = BranchParts {
                    mask: node.mask.into(),
                    inline: node.inline.into(),
                    references: &references[start..start + mask_count(node.mask)],
                    value: [&[]; 2],
                };
                codec.branch(&parts, &mut column.bytes, |_, _| {});
                column.end();
            }
            let (above, below) = extensions;
            drain(column, codec, |i, reference| {
                let node = &nodes[level[i] as usize];
                let (start, place) = (usize::from(node.start), node.place);
                if start == depth {
                    place_reference(place, reference, nodes, references);
                    return;
                }
                extension(codec, (start..depth).map(|at| nibble(&node.key, at)), &reference, above);
                below.push(level[i]);
            });
            drain(above, codec, |i, reference| {
                place_reference(nodes[below[i] as usize].place, reference, nodes, references);
            });
            below.clear();
            level.clear();
        }
        tops.iter().enumerate().for_each(|(at, reference)| each(at, *reference));
        leaves.clear();
        nodes.clear();
        references.clear();
        tops.clear();
    }
}

/// Writes an extension with this path over a child.
pub(super) fn extension(
    codec: &Ethereum,
    path: impl Iterator<Item = u8>,
    child: &Reference,
    out: &mut Column,
) {
    let mut halves = [0; NIBBLES];
    let mut len = 0;
    for (half, from) in halves.iter_mut().zip(path) {
        *half = from;
        len += 1;
    }
    codec.extension(&halves[..len], &child.bytes, child.form == Form::Inline, &mut out.bytes);
    out.end();
}

fn mask_count(mask: u16) -> usize {
    mask.count_ones() as usize
}
