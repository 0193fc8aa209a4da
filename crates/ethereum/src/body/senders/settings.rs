//! Options of the recovery of senders.

blockmill_pipeline::named_option! {
    /// Which transactions have their senders recovered together.
    pub enum SenderBatches: "sender-batches", level Bodies {
        /// Those of one block.
        Block = "block",
        /// Those of a whole chunk of blocks.
        Chunk = "chunk",
    }
}

blockmill_signatures::signature_lanes!(blockmill_pipeline, level Bodies);
