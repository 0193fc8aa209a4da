//! A JSON parser that preserves the order of keys and the text of numbers.

use super::Error;

/// Nesting limit, as in the C# node.
const MAX_DEPTH: usize = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number as text.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, its keys in order.
    Object(Vec<(String, Json)>),
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Json {
    /// Reads a JSON text.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Json`] if the text is invalid or deeper than 64 levels.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.expected("the end"));
        }
        Ok(value)
    }
}

/// Decodes UTF-8. Each invalid byte becomes one U+FFFD, as in Go; Rust's lossy conversion merges
/// several.
fn replaced(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

impl Parser<'_> {
    fn expected(&self, expected: &'static str) -> Error {
        Error::Json { at: self.at, expected }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, Error> {
        self.space();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(self.expected("fewer levels")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.expected("a value")),
        }
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, Error> {
        if !self.text[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected(word));
        }
        self.at += word.len();
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Json, Error> {
        self.at += 1;
        let mut entries = Vec::new();
        self.space();
        if self.eat(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key"));
            }
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(self.expected("a colon"));
            }
            entries.push((key, self.value(depth + 1)?));
            self.space();
            if self.eat(b'}') {
                return Ok(Json::Object(entries));
            }
            if !self.eat(b',') {
                return Err(self.expected("a comma or }"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, Error> {
        self.at += 1;
        let mut list = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(Json::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            self.space();
            if self.eat(b']') {
                return Ok(Json::List(list));
            }
            if !self.eat(b',') {
                return Err(self.expected("a comma or ]"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), Error> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Json, Error> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(Json::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek().ok_or(self.expected("a quote"))?;
            self.at += 1;
            match byte {
                b'"' => return Ok(replaced(&bytes)),
                0..=0x1f => return Err(self.expected("no control character")),
                b'\\' => self.escape(&mut bytes)?,
                byte => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let byte = self.peek().ok_or(self.expected("an escape"))?;
        self.at += 1;
        bytes.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 0xc,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let char = self.unicode()?;
                bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.expected("an escape")),
        });
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(self.expected("4 digits"))?;
        let digits = std::str::from_utf8(digits).ok().filter(|text| !text.contains('+'));
        let value = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
        self.at += 4;
        value.ok_or(self.expected("4 hexadecimal digits"))
    }

    /// Decodes `\u` digits. An unpaired surrogate becomes U+FFFD.
    fn unicode(&mut self) -> Result<char, Error> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_that_is_not_utf_8_is_replaced() {
        let text = |bytes: &[u8]| Json::parse(&[b"\"", bytes, b"\""].concat());
        // truncated characters of three and four bytes, and an invalid first byte
        for (bytes, replaced) in [
            (&b"a\xe2\x82b"[..], "a\u{fffd}\u{fffd}b"),
            (b"\xf0\x9f\x98", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xff\xc3\xa9", "\u{fffd}\u{e9}"),
        ] {
            assert_eq!(text(bytes), Ok(Json::Text(replaced.into())));
        }
    }
}
