//! Validates JSON with the rules and messages of Go's `encoding/json`.

use super::Error;

/// Nesting limit (`maxNestingDepth`).
const MAX_DEPTH: usize = 10_000;

/// Checks a JSON text.
///
/// # Errors
///
/// Returns [`Error::Syntax`] if it is not valid or too deep.
pub fn check(text: &[u8]) -> Result<(), Error> {
    Scanner { text, at: 0 }.whole()
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn whole(&mut self) -> Result<(), Error> {
        let mut open = Vec::new();
        loop {
            self.space();
            let starts = self.value(&mut open)?;
            if starts && self.first_part(&mut open)? {
                continue;
            }
            if self.after_value(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Reads a value. Of an array or object it reads only the bracket and returns true.
    fn value(&mut self, open: &mut Vec<u8>) -> Result<bool, Error> {
        match self.peek() {
            Some(bracket @ (b'{' | b'[')) => {
                open.push(bracket);
                if open.len() > MAX_DEPTH {
                    return Err(self.invalid("exceeded max depth"));
                }
                self.at += 1;
                return Ok(true);
            }
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => return Err(self.invalid("looking for beginning of value")),
        }
        Ok(false)
    }

    /// Reads on after a bracket. Returns true before a value, false after an empty array or object.
    fn first_part(&mut self, open: &mut Vec<u8>) -> Result<bool, Error> {
        self.space();
        let is_object = open.last() == Some(&b'{');
        if self.eat(if is_object { b'}' } else { b']' }) {
            open.pop();
            return Ok(false);
        }
        if is_object {
            self.key()?;
        }
        Ok(true)
    }

    /// Reads on after a value and closes arrays and objects. Returns true at the end of the text,
    /// false before another value.
    fn after_value(&mut self, open: &mut Vec<u8>) -> Result<bool, Error> {
        loop {
            self.space();
            let (close, context) = match open.last() {
                None if self.at == self.text.len() => return Ok(true),
                None => return Err(self.invalid("after top-level value")),
                Some(b'{') => (b'}', "after object key:value pair"),
                Some(_) => (b']', "after array element"),
            };
            if self.eat(b',') {
                if close == b'}' {
                    self.space();
                    self.key()?;
                }
                return Ok(false);
            }
            if !self.eat(close) {
                return Err(self.invalid(context));
            }
            open.pop();
        }
    }

    fn key(&mut self) -> Result<(), Error> {
        if self.peek() != Some(b'"') {
            return Err(self.invalid("looking for beginning of object key string"));
        }
        self.string()?;
        self.space();
        if self.eat(b':') { Ok(()) } else { Err(self.invalid("after object key")) }
    }

    fn string(&mut self) -> Result<(), Error> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => {}
                        Some(b'u') => {
                            for _ in 0..4 {
                                self.at += 1;
                                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    let context = "in \\u hexadecimal character escape";
                                    return Err(self.invalid(context));
                                }
                            }
                        }
                        _ => return Err(self.invalid("in string escape code")),
                    }
                }
                Some(0..=0x1f) | None => return Err(self.invalid("in string literal")),
                Some(_) => {}
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Error> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits("in numeric literal")?;
        }
        if self.eat(b'.') {
            self.digits("after decimal point in numeric literal")?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digits(&mut self, context: &str) -> Result<(), Error> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.invalid(context)) } else { Ok(()) }
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        for byte in word.bytes() {
            if !self.eat(byte) {
                let expected = char::from(byte);
                return Err(self.invalid(&format!("in literal {word} (expecting '{expected}')")));
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The message of `encoding/json` about the next byte.
    fn invalid(&self, context: &str) -> Error {
        let shown = match self.peek() {
            None => return Error::Syntax("unexpected end of JSON input".into()),
            Some(b'\'') => "'\\''".into(),
            Some(b'\\') => "'\\\\'".into(),
            Some(byte @ b' '..=b'~') => format!("'{}'", char::from(byte)),
            Some(b'\t') => "'\\t'".into(),
            Some(b'\n') => "'\\n'".into(),
            Some(b'\r') => "'\\r'".into(),
            Some(byte @ (0..=0x1f | 0x7f)) => format!("'\\x{byte:02x}'"),
            Some(byte @ (0x80..=0xa0 | 0xad)) => format!("'\\u{byte:04x}'"),
            Some(byte) => format!("'{}'", char::from(byte)),
        };
        Error::Syntax(format!("invalid character {shown} {context}"))
    }
}
