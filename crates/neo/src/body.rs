//! What a block carries: transactions and their witnesses.
