//! Conditions of witness rules: the callers that a signature is valid for
//! (`transaction/witness_condition.go`).
//!
//! Decoding a transaction validates them; the evaluation of a rule reads them from its bytes again.

use super::{Error, Reader, UInt160, point};
use blockmill_signatures::is_p256_key;
use blockmill_verdict::Span;

/// Nesting limit of conditions.
pub const MAX_NESTING: u8 = 3;
/// Limit of conditions in a list, and of rules, contracts or groups of a signer.
pub const MAX_ITEMS: u64 = 16;

/// The first byte of an uncompressed key: x and y follow.
const UNCOMPRESSED: u8 = 4;

/// A compressed public key: 0x02 (even y) or 0x03 (odd y), then x.
pub type PublicKey = [u8; 33];

/// When a rule applies.
#[derive(Clone, Debug)]
pub enum Condition<'a> {
    /// Always or never.
    Boolean(bool),
    /// If the inner condition does not hold.
    Not(Box<Condition<'a>>),
    /// If all conditions hold.
    And(Conditions<'a>),
    /// If any condition holds.
    Or(Conditions<'a>),
    /// If the calling contract has this hash.
    ScriptHash(UInt160),
    /// If the calling contract is in the group with this key.
    Group(&'a PublicKey),
    /// If the entry script asks, or a contract that it calls directly.
    CalledByEntry,
    /// If this contract called the asking one.
    CalledByContract(UInt160),
    /// If a contract of the group with this key called the asking one.
    CalledByGroup(&'a PublicKey),
}

impl Condition<'_> {
    /// The number of its kind in the encoding.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Boolean(_) => 0x00,
            Self::Not(_) => 0x01,
            Self::And(_) => 0x02,
            Self::Or(_) => 0x03,
            Self::ScriptHash(_) => 0x18,
            Self::Group(_) => 0x19,
            Self::CalledByEntry => 0x20,
            Self::CalledByContract(_) => 0x28,
            Self::CalledByGroup(_) => 0x29,
        }
    }
}

/// The conditions of `And` or `Or`.
#[derive(Clone, Debug)]
pub struct Conditions<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl Conditions<'_> {
    /// The number of remaining ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.left
    }

    /// Reports whether none remain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Conditions<'a> {
    type Item = Condition<'a>;

    fn next(&mut self) -> Option<Condition<'a>> {
        self.left = self.left.checked_sub(1)?;
        // decoding the transaction validated them
        read(&mut self.reader, MAX_NESTING, Points::Known).ok()
    }
}

/// A witness rule: action and condition (`transaction/witness_rule.go`).
#[derive(Clone, Debug)]
pub struct Rule<'a> {
    /// Whether the witness is valid if the condition holds.
    pub allow: bool,
    /// When the rule applies.
    pub condition: Condition<'a>,
}

/// The rules of a signer.
#[derive(Clone, Debug)]
pub struct Rules<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Rules<'a> {
    pub(super) fn new(raw: &'a [u8], span: Span, count: usize) -> Self {
        Self { reader: Reader::at_span(raw, span), left: count }
    }

    /// The number of remaining ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.left
    }

    /// Reports whether none remain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Rules<'a> {
    type Item = Rule<'a>;

    fn next(&mut self) -> Option<Rule<'a>> {
        self.left = self.left.checked_sub(1)?;
        rule(&mut self.reader, Points::Known).ok()
    }
}

/// Whether public keys are known to be on the curve. The check costs a square root.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Points {
    Known,
    Unknown,
}

/// Reads a rule.
pub(super) fn rule<'a>(reader: &mut Reader<'a>, points: Points) -> Result<Rule<'a>, Error> {
    let allow = boolean(reader, "action of a witness rule")?;
    Ok(Rule { allow, condition: read(reader, MAX_NESTING, points)? })
}

fn boolean(reader: &mut Reader<'_>, what: &'static str) -> Result<bool, Error> {
    let at = reader.position();
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::Field { at, what, expected: "0 or 1", found: other.into() }),
    }
}

/// A boolean condition: any byte but 0 is true, and is written as 1 (`io.BinReader.ReadBool`).
fn truth(reader: &mut Reader<'_>) -> Result<bool, Error> {
    let at = reader.position();
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ if reader.rewrite(at, || vec![1]) => Ok(true),
        other => {
            let (what, expected) = ("boolean condition", "0 or 1");
            Err(Error::Field { at, what, expected, found: other.into() })
        }
    }
}

fn hash(reader: &mut Reader<'_>) -> Result<UInt160, Error> {
    reader.array().copied().map(UInt160)
}

/// Reads a public key, which must be a point of P-256 (`keys.PublicKey.DecodeBinary`). An
/// uncompressed key is rewritten.
pub(super) fn public_key<'a>(
    reader: &mut Reader<'a>,
    points: Points,
) -> Result<&'a PublicKey, Error> {
    let at = reader.position();
    let key = reader.array()?;
    if key[0] == UNCOMPRESSED {
        let rest: &[u8; 32] = reader.array()?;
        let compressed = point::compressed(&[&key[..], rest].concat());
        if let Some(compressed) = compressed
            && reader.rewrite(at, || compressed.to_vec())
        {
            return Ok(key);
        }
    }
    if points == Points::Unknown && !is_p256_key(key) {
        let expected = "a compressed point of P-256";
        return Err(Error::Field { at, what: "public key", expected, found: key[0].into() });
    }
    Ok(key)
}

/// Reads a condition with at most `depth` levels. The recursion is at most [`MAX_NESTING`] deep.
fn read<'a>(reader: &mut Reader<'a>, depth: u8, points: Points) -> Result<Condition<'a>, Error> {
    let at = reader.position();
    if depth == 0 {
        let (expected, found) = (u64::from(MAX_NESTING), u64::from(MAX_NESTING) + 1);
        return Err(Error::TooMany { at, what: "nested witness conditions", expected, found });
    }
    Ok(match reader.byte()? {
        0x00 => Condition::Boolean(truth(reader)?),
        0x01 => Condition::Not(Box::new(read(reader, depth - 1, points)?)),
        0x02 => Condition::And(several(reader, depth, points)?),
        0x03 => Condition::Or(several(reader, depth, points)?),
        0x18 => Condition::ScriptHash(hash(reader)?),
        0x19 => Condition::Group(public_key(reader, points)?),
        0x20 => Condition::CalledByEntry,
        0x28 => Condition::CalledByContract(hash(reader)?),
        0x29 => Condition::CalledByGroup(public_key(reader, points)?),
        other => {
            let expected = "0, 1, 2, 3, 0x18, 0x19, 0x20, 0x28 or 0x29";
            let what = "kind of a witness condition";
            return Err(Error::Field { at, what, expected, found: other.into() });
        }
    })
}

/// Reads 1 to 16 conditions. Returns an iterator that reads them again.
fn several<'a>(
    reader: &mut Reader<'a>,
    depth: u8,
    points: Points,
) -> Result<Conditions<'a>, Error> {
    let at = reader.position();
    let left = reader.count("witness conditions", MAX_ITEMS)?;
    if left == 0 {
        let expected = "1 or more";
        return Err(Error::Field { at, what: "witness conditions", expected, found: 0 });
    }
    let conditions = Conditions { reader: reader.clone(), left };
    for _ in 0..left {
        read(reader, depth - 1, points)?;
    }
    Ok(conditions)
}
