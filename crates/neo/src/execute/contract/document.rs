//! JSON texts as Go's `encoding/json` reads them. Values stay text until they are used.

use super::{Error, scan};

/// The text of a valid JSON value, without surrounding spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a>(&'a str);

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JsonType {
    Null,
    Bool,
    Number,
    Text,
    List,
    Object,
}

impl<'a> Document<'a> {
    /// Checks a JSON text.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Syntax`], with Go's message, if it is not valid or too deep.
    pub fn check(text: &'a str) -> Result<Self, Error> {
        scan::check(text.as_bytes())?;
        Ok(Self(text.trim_matches([' ', '\t', '\r', '\n'])))
    }

    /// The text of the value.
    pub fn raw(self) -> &'a str {
        self.0
    }

    /// The type of the value, by its first byte.
    pub fn kind(self) -> JsonType {
        match self.0.as_bytes().first() {
            Some(b'{') => JsonType::Object,
            Some(b'[') => JsonType::List,
            Some(b'"') => JsonType::Text,
            Some(b't' | b'f') => JsonType::Bool,
            Some(b'n') => JsonType::Null,
            _ => JsonType::Number,
        }
    }

    /// The contents of a string, with U+FFFD for invalid Unicode.
    pub fn text(self) -> String {
        let mut rest = self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default();
        let mut out = String::with_capacity(rest.len());
        while let Some((plain, escaped)) = rest.split_once('\\') {
            out.push_str(plain);
            rest = unescape(escaped, &mut out);
        }
        out.push_str(rest);
        out
    }

    /// The members of an object in order. Keys may repeat.
    pub fn members(self) -> impl Iterator<Item = (String, Document<'a>)> {
        let mut parts = self.parts();
        std::iter::from_fn(move || Some((parts.next()?.text(), parts.next()?)))
    }

    /// The values of an array.
    pub fn elements(self) -> impl Iterator<Item = Document<'a>> {
        self.parts()
    }

    /// The values of an array, or the keys and values of an object.
    fn parts(self) -> impl Iterator<Item = Document<'a>> {
        let mut at = 1;
        std::iter::from_fn(move || {
            let bytes = self.0.as_bytes();
            while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b':')) {
                at += 1;
            }
            if matches!(bytes.get(at), None | Some(b'}' | b']')) {
                return None;
            }
            let start = at;
            at = end_of_value(bytes, at);
            self.0.get(start..at).map(Document)
        })
    }

    /// The value without spaces, with strings escaped as in the C# node.
    pub fn normalized(self) -> String {
        let mut out = String::with_capacity(self.0.len());
        let bytes = self.0.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'"' => {
                    let end = end_of_value(bytes, at);
                    write_text(&Document(&self.0[at..end]).text(), &mut out);
                    at = end;
                    continue;
                }
                byte => out.push(char::from(*byte)),
            }
            at += 1;
        }
        out
    }
}

/// The end of the value at `at`, in a valid text.
fn end_of_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            Some(b'{' | b'[') => {
                depth += 1;
                at += 1;
            }
            Some(b'}' | b']') => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            Some(_) if depth == 0 => {
                let ends = |byte: &u8| b" \t\r\n,:}]".contains(byte);
                return bytes[at..].iter().position(ends).map_or(bytes.len(), |len| at + len);
            }
            Some(_) => at += 1,
        }
        if depth == 0 {
            return at.min(bytes.len());
        }
    }
}

/// Appends the character of an escape. Returns the text after it.
fn unescape<'a>(escaped: &'a str, out: &mut String) -> &'a str {
    let mut rest = escaped.chars();
    out.push(match rest.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return unicode(rest.as_str(), out),
        Some(char) => char,
        None => char::REPLACEMENT_CHARACTER,
    });
    rest.as_str()
}

/// Appends the character of four hexadecimal digits; half of a pair alone is U+FFFD.
fn unicode<'a>(digits: &'a str, out: &mut String) -> &'a str {
    let hex = |text: &str| text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let (first, mut rest) = (hex(digits).unwrap_or_default(), digits.get(4..).unwrap_or_default());
    let mut code = first;
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = rest.strip_prefix("\\u")
        && let Some(low) = hex(second).filter(|low| (0xdc00..0xe000).contains(low))
    {
        code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        rest = second.get(4..).unwrap_or_default();
    }
    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

/// Writes a string as `go-ordered-json` does, which follows `System.Text.Json`: everything but
/// harmless ASCII is escaped.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' if !matches!(char, '"' | '&' | '\'' | '+' | '<' | '>' | '`') => {
                out.push(char)
            }
            char => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    out.push('"');
}
