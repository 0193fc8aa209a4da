//! What random programs are made of.

use ethereum::params::Fork;

/// Instructions that take this many words and give one, and the fork since which they are there.
pub const FUNCTIONS: [(u8, u8, Fork); 56] = [
    (0x01, 2, Fork::Frontier),
    (0x02, 2, Fork::Frontier),
    (0x03, 2, Fork::Frontier),
    (0x04, 2, Fork::Frontier),
    (0x05, 2, Fork::Frontier),
    (0x06, 2, Fork::Frontier),
    (0x07, 2, Fork::Frontier),
    (0x08, 3, Fork::Frontier),
    (0x09, 3, Fork::Frontier),
    (0x0a, 2, Fork::Frontier),
    (0x0b, 2, Fork::Frontier),
    (0x10, 2, Fork::Frontier),
    (0x11, 2, Fork::Frontier),
    (0x12, 2, Fork::Frontier),
    (0x13, 2, Fork::Frontier),
    (0x14, 2, Fork::Frontier),
    (0x15, 1, Fork::Frontier),
    (0x16, 2, Fork::Frontier),
    (0x17, 2, Fork::Frontier),
    (0x18, 2, Fork::Frontier),
    (0x19, 1, Fork::Frontier),
    (0x1a, 2, Fork::Frontier),
    (0x1b, 2, Fork::Petersburg),
    (0x1c, 2, Fork::Petersburg),
    (0x1d, 2, Fork::Petersburg),
    (0x1e, 1, Fork::Osaka),
    (0x30, 0, Fork::Frontier),
    (0x31, 1, Fork::Frontier),
    (0x32, 0, Fork::Frontier),
    (0x33, 0, Fork::Frontier),
    (0x34, 0, Fork::Frontier),
    (0x35, 1, Fork::Frontier),
    (0x36, 0, Fork::Frontier),
    (0x38, 0, Fork::Frontier),
    (0x3a, 0, Fork::Frontier),
    (0x3b, 1, Fork::Frontier),
    (0x3d, 0, Fork::Byzantium),
    (0x3f, 1, Fork::Petersburg),
    (0x40, 1, Fork::Frontier),
    (0x41, 0, Fork::Frontier),
    (0x42, 0, Fork::Frontier),
    (0x43, 0, Fork::Frontier),
    (0x44, 0, Fork::Frontier),
    (0x45, 0, Fork::Frontier),
    (0x46, 0, Fork::Istanbul),
    (0x47, 0, Fork::Istanbul),
    (0x48, 0, Fork::London),
    (0x49, 1, Fork::Cancun),
    (0x4a, 0, Fork::Cancun),
    (0x51, 1, Fork::Frontier),
    (0x54, 1, Fork::Frontier),
    (0x58, 0, Fork::Frontier),
    (0x59, 0, Fork::Frontier),
    (0x5a, 0, Fork::Frontier),
    (0x5c, 1, Fork::Cancun),
    (0x5f, 0, Fork::Shanghai),
];

/// Functions of an address, of a number of a block, of a place in memory, of a slot.
pub const OF_ADDRESSES: [u8; 3] = [0x31, 0x3b, 0x3f];
pub const OF_BLOCKS: u8 = 0x40;
pub const OF_MEMORY: u8 = 0x51;
pub const OF_SLOTS: [u8; 2] = [0x54, 0x5c];

/// Short creation codes: two that make a contract, and some that end in other ways.
pub const CREATIONS: [&[u8]; 7] = [
    // slot 0 is 1; the contract destroys itself for the caller
    &[0x60, 1, 0x60, 0, 0x55, 0x61, 0x33, 0xff, 0x60, 0, 0x52, 0x60, 2, 0x60, 30, 0xf3],
    // the contract counts in slot 0
    &[0x69, 0x60, 0, 0x54, 0x60, 1, 1, 0x60, 0, 0x55, 0, 0x60, 0, 0x52, 0x60, 10, 0x60, 22, 0xf3],
    // no code
    &[],
    // revert, or an unknown instruction
    &[0x60, 0, 0x60, 0, 0xfd],
    // code that begins with 0xef (EIP-3541)
    &[0x60, 0xef, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xf3],
    // destroys itself while it is made
    &[0x33, 0xff],
    // an invalid instruction
    &[0xfe],
];
