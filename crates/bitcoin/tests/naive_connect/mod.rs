//! A decoder as plain as can be, which copies everything: the oracle of the fast one.

#![allow(dead_code)] // each test program uses its own part of this module

/// An input.
#[derive(Clone, Debug, PartialEq)]
pub struct TxIn {
    pub outpoint: Vec<u8>,
    pub script: Vec<u8>,
    pub sequence: u32,
    pub witness: Vec<Vec<u8>>,
}

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub struct TxOut {
    pub value: i64,
    pub script: Vec<u8>,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Tx {
    pub version: i32,
    pub inputs: Vec<TxIn>,
    pub outputs: Vec<TxOut>,
    pub lock_time: u32,
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    pub header: Vec<u8>,
    pub transactions: Vec<Tx>,
}

impl Tx {
    pub fn has_witness(&self) -> bool {
        self.inputs.iter().any(|input| !input.witness.is_empty())
    }

    /// With witnesses, if there are any and they are asked for.
    pub fn encode(&self, witnesses: bool) -> Vec<u8> {
        let witnesses = witnesses && self.has_witness();
        let mut out = self.version.to_le_bytes().to_vec();
        if witnesses {
            out.extend([0, 1]);
        }
        put_number(&mut out, self.inputs.len());
        for input in &self.inputs {
            out.extend(&input.outpoint);
            put_string(&mut out, &input.script);
            out.extend(input.sequence.to_le_bytes());
        }
        put_number(&mut out, self.outputs.len());
        for output in &self.outputs {
            out.extend(output.value.to_le_bytes());
            put_string(&mut out, &output.script);
        }
        for input in self.inputs.iter().filter(|_| witnesses) {
            put_number(&mut out, input.witness.len());
            input.witness.iter().for_each(|item| put_string(&mut out, item));
        }
        out.extend(self.lock_time.to_le_bytes());
        out
    }
}

impl Plain {
    pub fn encode(&self, witnesses: bool) -> Vec<u8> {
        let mut out = self.header.clone();
        put_number(&mut out, self.transactions.len());
        self.transactions.iter().for_each(|each| out.extend(each.encode(witnesses)));
        out
    }

    /// `None`: no block, or a block and something more.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        if bytes.len() > 4_000_000 {
            return None;
        }
        let bytes = &mut bytes;
        let header = take(bytes, 80)?;
        let transactions = list(bytes, transaction)?;
        bytes.is_empty().then_some(Self { header, transactions })
    }
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    match number {
        ..0xfd => out.push(number as u8),
        0xfd..0x1_0000 => {
            out.push(0xfd);
            out.extend((number as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfe);
            out.extend((number as u32).to_le_bytes());
        }
    }
}

fn put_string(out: &mut Vec<u8>, string: &[u8]) {
    put_number(out, string.len());
    out.extend(string);
}

fn take(bytes: &mut &[u8], count: usize) -> Option<Vec<u8>> {
    if bytes.len() < count {
        return None;
    }
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    Some(taken.to_vec())
}

fn little_endian(bytes: &mut &[u8], count: usize) -> Option<u64> {
    Some(take(bytes, count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, least) = match little_endian(bytes, 1)? {
        0xfd => (little_endian(bytes, 2)?, 0xfd),
        0xfe => (little_endian(bytes, 4)?, 0x1_0000),
        0xff => (little_endian(bytes, 8)?, 0x1_0000_0000),
        small => (small, 0),
    };
    (number >= least && number <= 0x0200_0000).then_some(number)
}

fn string(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let length = number(bytes)?;
    take(bytes, length as usize)
}

fn list<T>(bytes: &mut &[u8], one: fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let count = number(bytes)?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(one(bytes)?);
    }
    Some(list)
}

fn input(bytes: &mut &[u8]) -> Option<TxIn> {
    Some(TxIn {
        outpoint: take(bytes, 36)?,
        script: string(bytes)?,
        sequence: little_endian(bytes, 4)? as u32,
        witness: Vec::new(),
    })
}

fn output(bytes: &mut &[u8]) -> Option<TxOut> {
    Some(TxOut { value: little_endian(bytes, 8)? as i64, script: string(bytes)? })
}

fn transaction(bytes: &mut &[u8]) -> Option<Tx> {
    let version = little_endian(bytes, 4)? as u32 as i32;
    let mut inputs = list(bytes, input)?;
    let mut outputs = Vec::new();
    let mut flags = 0;
    if inputs.is_empty() {
        flags = little_endian(bytes, 1)?;
        if flags != 0 {
            inputs = list(bytes, input)?;
            outputs = list(bytes, output)?;
        }
    } else {
        outputs = list(bytes, output)?;
    }
    if flags & 1 != 0 {
        for input in &mut inputs {
            input.witness = list(bytes, string)?;
        }
        if inputs.iter().all(|input| input.witness.is_empty()) {
            return None;
        }
    }
    if flags > 1 {
        return None;
    }
    Some(Tx { version, inputs, outputs, lock_time: little_endian(bytes, 4)? as u32 })
}
