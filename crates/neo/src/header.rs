//! Headers: decoding, hash, and the witness of the consensus nodes.
