//! How Go's `encoding/json` reads values into fields: strings, objects and lists, with its errors.

use super::{
    Error,
    document::{Document, Kind},
};

/// Where a value belongs in the types of Go: struct, path of the field, type.
pub(super) struct At<'a>(pub &'a str, pub &'a str, pub &'a str);

impl At<'_> {
    /// The error for a value of another kind (`json.UnmarshalTypeError`).
    pub fn mismatch(&self, value: Document<'_>) -> Error {
        let Self(of, path, kind) = self;
        let found = match value.kind() {
            Kind::Null => "null",
            Kind::Bool => "bool",
            // integers show the digits
            Kind::Number if matches!(*kind, "int" | "uint8") => &format!("number {}", value.raw()),
            Kind::Number => "number",
            Kind::Text => "string",
            Kind::List => "array",
            Kind::Object => "object",
        };
        let place = match path.is_empty() {
            true => "value".into(),
            false => format!("struct field {of}.{path}"),
        };
        Error::Syntax(format!("json: cannot unmarshal {found} into Go {place} of type {kind}"))
    }
}

/// Where text belongs in the struct of a manifest.
pub(super) fn text_of<'a>(path: &'a str) -> At<'a> {
    At("Manifest", path, "string")
}

/// Reads the members of an object; null has none.
pub(super) fn object<'a>(
    at: &At<'_>,
    value: Document<'a>,
    mut read: impl FnMut(&str, Document<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    match value.kind() {
        Kind::Null => Ok(()),
        Kind::Object => value.members().try_for_each(|(key, value)| read(&folded(&key), value)),
        _ => Err(at.mismatch(value)),
    }
}

/// A key as fields are found by it: `foldName` of `encoding/json` in lower case.
fn folded(key: &str) -> String {
    let fold = |char| match char {
        'ſ' => 's',
        '\u{212a}' => 'k',
        char => char.to_ascii_lowercase(),
    };
    key.chars().map(fold).collect()
}

/// Reads a string; null leaves the old one.
pub(super) fn text(place: &mut String, value: Document<'_>, at: &At<'_>) -> Result<(), Error> {
    match value.kind() {
        Kind::Text => *place = value.text(),
        Kind::Null => {}
        _ => return Err(at.mismatch(value)),
    }
    Ok(())
}

/// A list of Go. Read again, it keeps its old elements as the places of the new ones.
#[derive(Clone)]
pub(super) struct Slots<T> {
    places: Vec<T>,
    /// Elements of the list; none: it is nil.
    len: Option<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), len: None }
    }
}

impl<T: Default> Slots<T> {
    pub fn read(
        &mut self,
        at: &At<'_>,
        value: Document<'_>,
        element: impl Fn(&mut T, Document<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match value.kind() {
            Kind::Null => *self = Self::default(),
            Kind::List => {
                let mut len = 0;
                for value in value.elements() {
                    if len == self.places.len() {
                        self.places.push(T::default());
                    }
                    element(&mut self.places[len], value)?;
                    len += 1;
                }
                if len == 0 {
                    self.places.clear();
                }
                self.len = Some(len);
            }
            _ => return Err(at.mismatch(value)),
        }
        Ok(())
    }

    /// The elements; none: nil.
    pub fn list(mut self) -> Option<Vec<T>> {
        self.places.truncate(self.len?);
        Some(self.places)
    }
}
