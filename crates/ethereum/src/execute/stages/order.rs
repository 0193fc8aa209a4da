//! Options of the order of execution, roots and receipts.

blockmill_pipeline::named_option! {
    /// When bodies and seals are checked and senders recovered (go-ethereum's `senderCacher`).
    pub enum SenderOrder: "senders", level Execution {
        /// Just before the execution, on the thread that executes.
        Inline = "inline",
        /// In a stage before the execution, on any thread.
        Pipelined = "pipelined",
    }
}

blockmill_pipeline::named_option! {
    /// When the state roots of a chunk are computed.
    pub enum RootOrder: "root", level Execution {
        /// Before the next chunk, on the thread that executes.
        Inline = "inline",
        /// While later chunks are executed, on another thread.
        Pipelined = "pipelined",
    }
}

blockmill_pipeline::named_option! {
    /// Which state roots are compared.
    ///
    /// This is the one option whose default is not its fastest value. With another value the state
    /// roots in the headers between are not compared. When a root is wrong, the block at fault is
    /// found and named nevertheless. With a state on disk every root is compared.
    pub enum RootInterval: "root-every", level Execution {
        /// The root of every 64th block.
        Every64 = "64",
        /// The root of every 8th block.
        Every8 = "8",
        /// The root of each block.
        Each = "1",
    }
}

impl RootInterval {
    /// Blocks from one root to the next.
    #[must_use]
    pub fn blocks(self) -> usize {
        match self {
            Self::Every64 => 64,
            Self::Every8 => 8,
            Self::Each => 1,
        }
    }
}

blockmill_pipeline::named_option! {
    /// How many blocks have the nodes that they change in the tries hashed together.
    ///
    /// With the state in memory.
    pub enum RootGroup: "root-group", level Execution {
        /// One.
        One = "1",
        /// Up to eight small ones.
        Eight = "8",
    }
}

impl RootGroup {
    /// Most blocks of a group.
    #[must_use]
    pub fn blocks(self) -> usize {
        match self {
            Self::One => 1,
            Self::Eight => 8,
        }
    }
}

blockmill_pipeline::named_option! {
    /// When receipts and the records of the log are built.
    pub enum ReceiptOrder: "receipts", level Execution {
        /// On the thread that computes the roots.
        Inline = "inline",
        /// In a stage after it, on any thread, while roots of later chunks are computed.
        Pipelined = "pipelined",
    }
}
