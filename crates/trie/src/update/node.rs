//! Addresses of nodes and the names that their parents have for them.

/// Address of a node: its kind, and the place of its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node(u32);

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// There is none.
    None,
    /// Only its hash is known, which its parent holds.
    Unknown,
    /// A key and its value.
    Leaf,
    /// The point where keys diverge.
    Branch,
    /// The common part of all keys below a branch.
    Extension,
}

impl Node {
    /// No node.
    pub const NONE: Self = Self(0);
    /// A node of which only the hash is known.
    pub const UNKNOWN: Self = Self(4);

    /// The leaf at `place`, which is below 2^30.
    pub fn leaf(place: u32) -> Self {
        Self(place << 2 | 1)
    }

    /// The branch at `place`.
    pub fn branch(place: u32) -> Self {
        Self(place << 2 | 2)
    }

    /// The extension at `place`.
    pub fn extension(place: u32) -> Self {
        Self(place << 2 | 3)
    }

    /// From a record.
    #[inline(always)]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// For a record.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The kind of the node.
    #[inline(always)]
    pub fn kind(self) -> NodeKind {
        match self.0 & 3 {
            1 => NodeKind::Leaf,
            2 => NodeKind::Branch,
            3 => NodeKind::Extension,
            _ if self.0 == 0 => NodeKind::None,
            _ => NodeKind::Unknown,
        }
    }

    /// True for leaves, branches and extensions.
    #[inline(always)]
    pub fn has_record(self) -> bool {
        self.0 & 3 != 0
    }

    /// The start of its record in the heap.
    #[inline(always)]
    pub fn place(self) -> u32 {
        self.0 >> 2
    }
}

/// The meaning of the 32 bytes of a [`Reference`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Nothing: there is no node.
    #[default]
    None,
    /// The hash of the node.
    Hash,
    /// The node itself, which is shorter than a hash.
    Inline,
    /// A ticket (`u32`, little endian) for a hash that is yet to be computed.
    Pending,
}

/// The reference of a parent to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// The bytes, as `form` says, padded with zeros.
    pub bytes: [u8; 32],
    /// The meaning of the bytes.
    pub form: Form,
}

impl Reference {
    /// A node by its hash.
    pub fn hash(bytes: [u8; 32]) -> Self {
        Self { bytes, form: Form::Hash }
    }

    /// A node of fewer than 32 bytes.
    pub fn inline(node: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes[..node.len()].copy_from_slice(node);
        Self { bytes, form: Form::Inline }
    }

    /// The reference to a node with a pending hash.
    pub fn pending(ticket: u32) -> Self {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&ticket.to_le_bytes());
        Self { bytes, form: Form::Pending }
    }
}

/// The ticket that the bytes of a pending reference are.
pub fn ticket(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}
