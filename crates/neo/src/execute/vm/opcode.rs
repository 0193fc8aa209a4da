//! The opcodes: names, prices and operand lengths.
//!
//! The fee of an opcode is its price coefficient times the execution fee factor of Policy.

use std::borrow::Cow;

/// Marks an unknown opcode.
pub const INVALID: u8 = 0xff;
/// The operand has a length prefix of one byte.
pub const PREFIX_1: u8 = 0xf1;
/// The operand has a length prefix of two bytes, little endian.
pub const PREFIX_2: u8 = 0xf2;
/// The operand has a length prefix of four bytes, little endian.
pub const PREFIX_4: u8 = 0xf4;

macro_rules! opcodes {
    ($($code:literal $name:ident $shown:literal $operand:literal $price:expr;)*) => {
        $(#[allow(missing_docs)] pub const $name: u8 = $code;)*

        /// The operand of each opcode: a length, a prefix or [`INVALID`].
        pub static OPERANDS: [u8; 256] = {
            let mut table = [INVALID; 256];
            $(table[$code] = $operand;)*
            table
        };
        /// The price coefficient of each opcode.
        pub static PRICES: [u16; 256] = {
            let mut table = [0; 256];
            $(table[$code] = $price;)*
            table
        };
        /// The name of each opcode; empty for unknown ones.
        pub static NAMES: [&str; 256] = {
            let mut table = [""; 256];
            $(table[$code] = $shown;)*
            table
        };
    };
}

/// The name of an opcode in the reference client's messages, including unknown ones.
#[must_use]
pub fn name(op: u8) -> Cow<'static, str> {
    match NAMES[usize::from(op)] {
        "" => format!("Opcode({op})").into(),
        name => name.into(),
    }
}

opcodes! {
    0x00 PUSHINT8 "PUSHINT8" 1 1 << 0;
    0x01 PUSHINT16 "PUSHINT16" 2 1 << 0;
    0x02 PUSHINT32 "PUSHINT32" 4 1 << 0;
    0x03 PUSHINT64 "PUSHINT64" 8 1 << 0;
    0x04 PUSHINT128 "PUSHINT128" 16 1 << 2;
    0x05 PUSHINT256 "PUSHINT256" 32 1 << 2;
    0x08 PUSHT "PUSHT" 0 1 << 0;
    0x09 PUSHF "PUSHF" 0 1 << 0;
    0x0a PUSHA "PUSHA" 4 1 << 2;
    0x0b PUSHNULL "PUSHNULL" 0 1 << 0;
    0x0c PUSHDATA1 "PUSHDATA1" 0xf1 1 << 3;
    0x0d PUSHDATA2 "PUSHDATA2" 0xf2 1 << 9;
    0x0e PUSHDATA4 "PUSHDATA4" 0xf4 1 << 12;
    0x0f PUSHM1 "PUSHM1" 0 1 << 0;
    0x10 PUSH0 "PUSH0" 0 1 << 0;
    0x11 PUSH1 "PUSH1" 0 1 << 0;
    0x12 PUSH2 "PUSH2" 0 1 << 0;
    0x13 PUSH3 "PUSH3" 0 1 << 0;
    0x14 PUSH4 "PUSH4" 0 1 << 0;
    0x15 PUSH5 "PUSH5" 0 1 << 0;
    0x16 PUSH6 "PUSH6" 0 1 << 0;
    0x17 PUSH7 "PUSH7" 0 1 << 0;
    0x18 PUSH8 "PUSH8" 0 1 << 0;
    0x19 PUSH9 "PUSH9" 0 1 << 0;
    0x1a PUSH10 "PUSH10" 0 1 << 0;
    0x1b PUSH11 "PUSH11" 0 1 << 0;
    0x1c PUSH12 "PUSH12" 0 1 << 0;
    0x1d PUSH13 "PUSH13" 0 1 << 0;
    0x1e PUSH14 "PUSH14" 0 1 << 0;
    0x1f PUSH15 "PUSH15" 0 1 << 0;
    0x20 PUSH16 "PUSH16" 0 1 << 0;
    0x21 NOP "NOP" 0 1 << 0;
    0x22 JMP "JMP" 1 1 << 1;
    0x23 JMPL "JMP_L" 4 1 << 1;
    0x24 JMPIF "JMPIF" 1 1 << 1;
    0x25 JMPIFL "JMPIF_L" 4 1 << 1;
    0x26 JMPIFNOT "JMPIFNOT" 1 1 << 1;
    0x27 JMPIFNOTL "JMPIFNOT_L" 4 1 << 1;
    0x28 JMPEQ "JMPEQ" 1 1 << 1;
    0x29 JMPEQL "JMPEQ_L" 4 1 << 1;
    0x2a JMPNE "JMPNE" 1 1 << 1;
    0x2b JMPNEL "JMPNE_L" 4 1 << 1;
    0x2c JMPGT "JMPGT" 1 1 << 1;
    0x2d JMPGTL "JMPGT_L" 4 1 << 1;
    0x2e JMPGE "JMPGE" 1 1 << 1;
    0x2f JMPGEL "JMPGE_L" 4 1 << 1;
    0x30 JMPLT "JMPLT" 1 1 << 1;
    0x31 JMPLTL "JMPLT_L" 4 1 << 1;
    0x32 JMPLE "JMPLE" 1 1 << 1;
    0x33 JMPLEL "JMPLE_L" 4 1 << 1;
    0x34 CALL "CALL" 1 1 << 9;
    0x35 CALLL "CALL_L" 4 1 << 9;
    0x36 CALLA "CALLA" 0 1 << 9;
    0x37 CALLT "CALLT" 2 1 << 15;
    0x38 ABORT "ABORT" 0 0;
    0x39 ASSERT "ASSERT" 0 1 << 0;
    0x3a THROW "THROW" 0 1 << 9;
    0x3b TRY "TRY" 2 1 << 2;
    0x3c TRYL "TRY_L" 8 1 << 2;
    0x3d ENDTRY "ENDTRY" 1 1 << 2;
    0x3e ENDTRYL "ENDTRY_L" 4 1 << 2;
    0x3f ENDFINALLY "ENDFINALLY" 0 1 << 2;
    0x40 RET "RET" 0 0;
    0x41 SYSCALL "SYSCALL" 4 0;
    0x43 DEPTH "DEPTH" 0 1 << 1;
    0x45 DROP "DROP" 0 1 << 1;
    0x46 NIP "NIP" 0 1 << 1;
    0x48 XDROP "XDROP" 0 1 << 4;
    0x49 CLEAR "CLEAR" 0 1 << 4;
    0x4a DUP "DUP" 0 1 << 1;
    0x4b OVER "OVER" 0 1 << 1;
    0x4d PICK "PICK" 0 1 << 1;
    0x4e TUCK "TUCK" 0 1 << 1;
    0x50 SWAP "SWAP" 0 1 << 1;
    0x51 ROT "ROT" 0 1 << 1;
    0x52 ROLL "ROLL" 0 1 << 4;
    0x53 REVERSE3 "REVERSE3" 0 1 << 1;
    0x54 REVERSE4 "REVERSE4" 0 1 << 1;
    0x55 REVERSEN "REVERSEN" 0 1 << 4;
    0x56 INITSSLOT "INITSSLOT" 1 1 << 4;
    0x57 INITSLOT "INITSLOT" 2 1 << 6;
    0x58 LDSFLD0 "LDSFLD0" 0 1 << 1;
    0x59 LDSFLD1 "LDSFLD1" 0 1 << 1;
    0x5a LDSFLD2 "LDSFLD2" 0 1 << 1;
    0x5b LDSFLD3 "LDSFLD3" 0 1 << 1;
    0x5c LDSFLD4 "LDSFLD4" 0 1 << 1;
    0x5d LDSFLD5 "LDSFLD5" 0 1 << 1;
    0x5e LDSFLD6 "LDSFLD6" 0 1 << 1;
    0x5f LDSFLD "LDSFLD" 1 1 << 1;
    0x60 STSFLD0 "STSFLD0" 0 1 << 1;
    0x61 STSFLD1 "STSFLD1" 0 1 << 1;
    0x62 STSFLD2 "STSFLD2" 0 1 << 1;
    0x63 STSFLD3 "STSFLD3" 0 1 << 1;
    0x64 STSFLD4 "STSFLD4" 0 1 << 1;
    0x65 STSFLD5 "STSFLD5" 0 1 << 1;
    0x66 STSFLD6 "STSFLD6" 0 1 << 1;
    0x67 STSFLD "STSFLD" 1 1 << 1;
    0x68 LDLOC0 "LDLOC0" 0 1 << 1;
    0x69 LDLOC1 "LDLOC1" 0 1 << 1;
    0x6a LDLOC2 "LDLOC2" 0 1 << 1;
    0x6b LDLOC3 "LDLOC3" 0 1 << 1;
    0x6c LDLOC4 "LDLOC4" 0 1 << 1;
    0x6d LDLOC5 "LDLOC5" 0 1 << 1;
    0x6e LDLOC6 "LDLOC6" 0 1 << 1;
    0x6f LDLOC "LDLOC" 1 1 << 1;
    0x70 STLOC0 "STLOC0" 0 1 << 1;
    0x71 STLOC1 "STLOC1" 0 1 << 1;
    0x72 STLOC2 "STLOC2" 0 1 << 1;
    0x73 STLOC3 "STLOC3" 0 1 << 1;
    0x74 STLOC4 "STLOC4" 0 1 << 1;
    0x75 STLOC5 "STLOC5" 0 1 << 1;
    0x76 STLOC6 "STLOC6" 0 1 << 1;
    0x77 STLOC "STLOC" 1 1 << 1;
    0x78 LDARG0 "LDARG0" 0 1 << 1;
    0x79 LDARG1 "LDARG1" 0 1 << 1;
    0x7a LDARG2 "LDARG2" 0 1 << 1;
    0x7b LDARG3 "LDARG3" 0 1 << 1;
    0x7c LDARG4 "LDARG4" 0 1 << 1;
    0x7d LDARG5 "LDARG5" 0 1 << 1;
    0x7e LDARG6 "LDARG6" 0 1 << 1;
    0x7f LDARG "LDARG" 1 1 << 1;
    0x80 STARG0 "STARG0" 0 1 << 1;
    0x81 STARG1 "STARG1" 0 1 << 1;
    0x82 STARG2 "STARG2" 0 1 << 1;
    0x83 STARG3 "STARG3" 0 1 << 1;
    0x84 STARG4 "STARG4" 0 1 << 1;
    0x85 STARG5 "STARG5" 0 1 << 1;
    0x86 STARG6 "STARG6" 0 1 << 1;
    0x87 STARG "STARG" 1 1 << 1;
    0x88 NEWBUFFER "NEWBUFFER" 0 1 << 8;
    0x89 MEMCPY "MEMCPY" 0 1 << 11;
    0x8b CAT "CAT" 0 1 << 11;
    0x8c SUBSTR "SUBSTR" 0 1 << 11;
    0x8d LEFT "LEFT" 0 1 << 11;
    0x8e RIGHT "RIGHT" 0 1 << 11;
    0x90 INVERT "INVERT" 0 1 << 2;
    0x91 AND "AND" 0 1 << 3;
    0x92 OR "OR" 0 1 << 3;
    0x93 XOR "XOR" 0 1 << 3;
    0x97 EQUAL "EQUAL" 0 1 << 5;
    0x98 NOTEQUAL "NOTEQUAL" 0 1 << 5;
    0x99 SIGN "SIGN" 0 1 << 2;
    0x9a ABS "ABS" 0 1 << 2;
    0x9b NEGATE "NEGATE" 0 1 << 2;
    0x9c INC "INC" 0 1 << 2;
    0x9d DEC "DEC" 0 1 << 2;
    0x9e ADD "ADD" 0 1 << 3;
    0x9f SUB "SUB" 0 1 << 3;
    0xa0 MUL "MUL" 0 1 << 3;
    0xa1 DIV "DIV" 0 1 << 3;
    0xa2 MOD "MOD" 0 1 << 3;
    0xa3 POW "POW" 0 1 << 6;
    0xa4 SQRT "SQRT" 0 1 << 6;
    0xa5 MODMUL "MODMUL" 0 1 << 5;
    0xa6 MODPOW "MODPOW" 0 1 << 11;
    0xa8 SHL "SHL" 0 1 << 3;
    0xa9 SHR "SHR" 0 1 << 3;
    0xaa NOT "NOT" 0 1 << 2;
    0xab BOOLAND "BOOLAND" 0 1 << 3;
    0xac BOOLOR "BOOLOR" 0 1 << 3;
    0xb1 NZ "NZ" 0 1 << 2;
    0xb3 NUMEQUAL "NUMEQUAL" 0 1 << 3;
    0xb4 NUMNOTEQUAL "NUMNOTEQUAL" 0 1 << 3;
    0xb5 LT "LT" 0 1 << 3;
    0xb6 LE "LE" 0 1 << 3;
    0xb7 GT "GT" 0 1 << 3;
    0xb8 GE "GE" 0 1 << 3;
    0xb9 MIN "MIN" 0 1 << 3;
    0xba MAX "MAX" 0 1 << 3;
    0xbb WITHIN "WITHIN" 0 1 << 3;
    0xbe PACKMAP "PACKMAP" 0 1 << 11;
    0xbf PACKSTRUCT "PACKSTRUCT" 0 1 << 11;
    0xc0 PACK "PACK" 0 1 << 11;
    0xc1 UNPACK "UNPACK" 0 1 << 11;
    0xc2 NEWARRAY0 "NEWARRAY0" 0 1 << 4;
    0xc3 NEWARRAY "NEWARRAY" 0 1 << 9;
    0xc4 NEWARRAYT "NEWARRAY_T" 1 1 << 9;
    0xc5 NEWSTRUCT0 "NEWSTRUCT0" 0 1 << 4;
    0xc6 NEWSTRUCT "NEWSTRUCT" 0 1 << 9;
    0xc8 NEWMAP "NEWMAP" 0 1 << 3;
    0xca SIZE "SIZE" 0 1 << 2;
    0xcb HASKEY "HASKEY" 0 1 << 6;
    0xcc KEYS "KEYS" 0 1 << 4;
    0xcd VALUES "VALUES" 0 1 << 13;
    0xce PICKITEM "PICKITEM" 0 1 << 6;
    0xcf APPEND "APPEND" 0 1 << 13;
    0xd0 SETITEM "SETITEM" 0 1 << 13;
    0xd1 REVERSEITEMS "REVERSEITEMS" 0 1 << 13;
    0xd2 REMOVE "REMOVE" 0 1 << 4;
    0xd3 CLEARITEMS "CLEARITEMS" 0 1 << 4;
    0xd4 POPITEM "POPITEM" 0 1 << 4;
    0xd8 ISNULL "ISNULL" 0 1 << 1;
    0xd9 ISTYPE "ISTYPE" 1 1 << 1;
    0xdb CONVERT "CONVERT" 1 1 << 13;
    0xe0 ABORTMSG "ABORTMSG" 0 0;
    0xe1 ASSERTMSG "ASSERTMSG" 0 1 << 0;
}
