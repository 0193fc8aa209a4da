//! NEF files: compiler, source, tokens, script and checksum.

use blockmill_hashes::sha256d;

use super::{Error, field, text};
use crate::execute::vm::{MAX_SIZE, serialize::write_size};

const MAGIC: u32 = 0x3346_454e;
const COMPILER: usize = 64;
const MAX_SOURCE: usize = 256;
const MAX_METHOD: usize = 32;
/// All flags of calls.
const ALL_FLAGS: u8 = 0x0f;

/// A method token: a method of another contract, called by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The contract.
    pub hash: [u8; 20],
    /// Name of the method.
    pub method: Vec<u8>,
    /// How many arguments it takes.
    pub parameters: u16,
    /// Whether it returns something.
    pub returns: bool,
    /// Its call flags.
    pub flags: u8,
}

/// A NEF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nef {
    /// Compiler's name and version.
    pub compiler: Vec<u8>,
    /// The URL of the source.
    pub source: Vec<u8>,
    /// Method tokens.
    pub tokens: Vec<Token>,
    /// The code.
    pub script: Vec<u8>,
    /// First four bytes of SHA-256d of everything before.
    pub checksum: u32,
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// The error for missing bytes.
    fn end(&self) -> Error {
        text(if self.0.is_empty() { "EOF" } else { "unexpected EOF" })
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or_else(|| self.end())?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(|| self.end())?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    fn size(&mut self, what: &str, max: usize) -> Result<usize, Error> {
        let size = match self.byte()? {
            0xfd => u64::from(u16::from_le_bytes(self.array()?)),
            0xfe => u64::from(u32::from_le_bytes(self.array()?)),
            0xff => u64::from_le_bytes(self.array()?),
            small => u64::from(small),
        };
        let fits = usize::try_from(size).ok().filter(|size| *size <= max);
        fits.ok_or_else(|| Error::Syntax(format!("{what} is too big ({size})")))
    }

    fn bytes(&mut self, max: usize) -> Result<&'a [u8], Error> {
        let len = self.size("byte-slice", max)?;
        self.take(len)
    }
}

impl Nef {
    /// A NEF file for a script.
    #[must_use]
    pub fn new(compiler: &str, script: Vec<u8>) -> Self {
        let mut nef = Self {
            compiler: compiler.into(),
            source: Vec::new(),
            tokens: Vec::new(),
            script,
            checksum: 0,
        };
        nef.checksum = nef.compute_checksum();
        nef
    }

    /// Decodes and checks a NEF file. Trailing bytes are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error for a wrong magic, length, reserved byte, token or checksum.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_SIZE {
            return Err(field("NEF", "too long"));
        }
        let mut input = Input(bytes);
        if u32::from_le_bytes(input.array().map_err(|_| text("invalid Magic"))?) != MAGIC {
            return Err(text("invalid Magic"));
        }
        let compiler = input.take(COMPILER)?;
        let end = compiler.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let source = input.bytes(MAX_SOURCE)?.to_vec();
        if input.byte()? != 0 {
            return Err(text("reserved bytes must be 0"));
        }
        let count = input.size("array", bytes.len())?;
        let mut tokens = Vec::new();
        for _ in 0..count {
            tokens.push(token(&mut input)?);
        }
        if input.array::<2>()? != [0; 2] {
            return Err(text("reserved bytes must be 0"));
        }
        let script = input.bytes(MAX_SIZE)?.to_vec();
        if script.is_empty() {
            return Err(text("empty script"));
        }
        let checksum = u32::from_le_bytes(input.array()?);
        let nef = Self { compiler: compiler[..end].to_vec(), source, tokens, script, checksum };
        if nef.compute_checksum() != checksum {
            return Err(text("checksum verification failure"));
        }
        Ok(nef)
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_le_bytes().to_vec();
        let mut compiler = self.compiler.clone();
        compiler.resize(COMPILER, 0);
        out.extend_from_slice(&compiler);
        write_size(&mut out, self.source.len());
        out.extend_from_slice(&self.source);
        out.push(0);
        write_size(&mut out, self.tokens.len());
        for token in &self.tokens {
            out.extend_from_slice(&token.hash);
            write_size(&mut out, token.method.len());
            out.extend_from_slice(&token.method);
            out.extend_from_slice(&token.parameters.to_le_bytes());
            out.extend([u8::from(token.returns), token.flags]);
        }
        out.extend_from_slice(&[0; 2]);
        write_size(&mut out, self.script.len());
        out.extend_from_slice(&self.script);
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out
    }

    fn compute_checksum(&self) -> u32 {
        let bytes = self.encode();
        let [a, b, c, d, ..] = sha256d(&bytes[..bytes.len() - 4]);
        u32::from_le_bytes([a, b, c, d])
    }
}

fn token(input: &mut Input) -> Result<Token, Error> {
    let hash = input.array()?;
    let method = input.bytes(MAX_METHOD)?.to_vec();
    if method.starts_with(b"_") {
        return Err(text("method name should't start with '_'"));
    }
    let parameters = u16::from_le_bytes(input.array()?);
    let returns = input.byte()? != 0;
    let flags = input.byte()?;
    if flags & !ALL_FLAGS != 0 {
        return Err(text("invalid call flag"));
    }
    Ok(Token { hash, method, parameters, returns, flags })
}
