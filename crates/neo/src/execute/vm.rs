//! NeoVM: stack items, opcodes, limits, exceptions.
