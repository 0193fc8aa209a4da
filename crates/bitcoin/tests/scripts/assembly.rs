//! Scripts as Bitcoin Core's test vectors write them.

use super::case::hex;
use std::collections::HashMap;
use std::path::Path;

/// The names of opcodes, with and without `OP_`.
pub struct Assembler(HashMap<String, u8>);

impl Assembler {
    /// From the header file that names them.
    pub fn new(core_source: &Path) -> Self {
        let header = std::fs::read_to_string(core_source.join("script/script.h")).unwrap();
        let mut names = HashMap::new();
        for line in header.lines() {
            let Some((name, value)) = line.trim().split_once(" = 0x") else { continue };
            let Some(name) = name.strip_prefix("OP_") else { continue };
            let value = u8::from_str_radix(&value[..2], 16).unwrap();
            // opcodes below are written as numbers
            if value >= 0x61 || name == "RESERVED" {
                names.insert(name.to_string(), value);
                names.insert(format!("OP_{name}"), value);
            }
        }
        names.insert("NOP2".into(), 0xb1);
        names.insert("NOP3".into(), 0xb2);
        assert!(names.len() > 150);
        Assembler(names)
    }

    pub fn script(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for word in text.split_whitespace() {
            let quoted = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
            if let Ok(number) = word.parse::<i64>() {
                push_number(&mut out, number);
            } else if let Some(raw) = word.strip_prefix("0x") {
                out.extend_from_slice(&hex(raw));
            } else if let Some(text) = quoted {
                push(&mut out, text.as_bytes());
            } else {
                out.push(*self.0.get(word).unwrap_or_else(|| panic!("opcode {word}")));
            }
        }
        out
    }
}

/// A push in its shortest form, numbers not shortened to opcodes.
pub fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        length @ 0..76 => out.push(length as u8),
        length @ 76..256 => out.extend_from_slice(&[76, length as u8]),
        length => {
            out.push(77);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

fn push_number(out: &mut Vec<u8>, number: i64) {
    match number {
        0 => out.push(0),
        -1 => out.push(0x4f),
        1..=16 => out.push(0x50 + number as u8),
        _ => {
            let mut bytes = number.unsigned_abs().to_le_bytes().to_vec();
            while bytes.last() == Some(&0) {
                bytes.pop();
            }
            if bytes.last().unwrap() & 0x80 != 0 {
                bytes.push(0);
            }
            if number < 0 {
                *bytes.last_mut().unwrap() |= 0x80;
            }
            push(out, &bytes);
        }
    }
}

pub fn compact_size(n: usize) -> Vec<u8> {
    match n {
        0..0xfd => vec![n as u8],
        0xfd..0x1_0000 => [&[0xfd][..], &(n as u16).to_le_bytes()].concat(),
        _ => [&[0xfe][..], &(n as u32).to_le_bytes()].concat(),
    }
}

/// A transaction that is put together by a test.
#[derive(Clone, Default)]
pub struct Draft {
    pub version: u32,
    pub inputs: Vec<DraftInput>,
    pub outputs: Vec<(u64, Vec<u8>)>,
    pub lock_time: u32,
}

#[derive(Clone, Default)]
pub struct DraftInput {
    pub txid: [u8; 32],
    pub vout: u32,
    pub script: Vec<u8>,
    pub sequence: u32,
    pub witness: Vec<Vec<u8>>,
}

impl Draft {
    pub fn encode(&self) -> Vec<u8> {
        let has_witness = self.inputs.iter().any(|input| !input.witness.is_empty());
        let mut out = self.version.to_le_bytes().to_vec();
        if has_witness {
            out.extend_from_slice(&[0, 1]);
        }
        out.extend(compact_size(self.inputs.len()));
        for input in &self.inputs {
            out.extend_from_slice(&input.txid);
            out.extend_from_slice(&input.vout.to_le_bytes());
            sized(&mut out, &input.script);
            out.extend_from_slice(&input.sequence.to_le_bytes());
        }
        out.extend(compact_size(self.outputs.len()));
        for (value, script) in &self.outputs {
            out.extend_from_slice(&value.to_le_bytes());
            sized(&mut out, script);
        }
        for input in self.inputs.iter().filter(|_| has_witness) {
            out.extend(compact_size(input.witness.len()));
            input.witness.iter().for_each(|item| sized(&mut out, item));
        }
        out.extend_from_slice(&self.lock_time.to_le_bytes());
        out
    }
}

pub fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(compact_size(bytes.len()));
    out.extend_from_slice(bytes);
}
