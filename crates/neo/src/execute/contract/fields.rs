//! Reads JSON values into fields as Go's `encoding/json` does, with its errors.

use super::{
    Error,
    document::{Document, JsonType},
};

/// The destination of a value in Go's types: struct, path of the field, type.
pub(super) struct At<'a>(pub &'a str, pub &'a str, pub &'a str);

impl At<'_> {
    /// The error for a value of another kind (`json.UnmarshalTypeError`).
    pub fn mismatch(&self, value: Document<'_>) -> Error {
        let Self(of, path, kind) = self;
        let found = match value.kind() {
            JsonType::Null => "null",
            JsonType::Bool => "bool",
            // integers show the digits
            JsonType::Number if matches!(*kind, "int" | "uint8") => {
                &format!("number {}", value.raw())
            }
            JsonType::Number => "number",
            JsonType::Text => "string",
            JsonType::List => "array",
            JsonType::Object => "object",
        };
        let place = match path.is_empty() {
            true => "value".into(),
            false => format!("struct field {of}.{path}"),
        };
        Error::Syntax(format!("json: cannot unmarshal {found} into Go {place} of type {kind}"))
    }
}

/// The destination of a string in the struct of a manifest.
pub(super) fn text_of<'a>(path: &'a str) -> At<'a> {
    At("Manifest", path, "string")
}

/// Reads the members of an object. Null has none.
pub(super) fn object<'a>(
    at: &At<'_>,
    value: Document<'a>,
    mut read: impl FnMut(&str, Document<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    match value.kind() {
        JsonType::Null => Ok(()),
        JsonType::Object => value.members().try_for_each(|(key, value)| read(&folded(&key), value)),
        _ => Err(at.mismatch(value)),
    }
}

/// The folded form of a key for field lookup: `foldName` of `encoding/json`, in lower case.
fn folded(key: &str) -> String {
    let fold = |char| match char {
        'ſ' => 's',
        '\u{212a}' => 'k',
        char => char.to_ascii_lowercase(),
    };
    key.chars().map(fold).collect()
}

/// Reads a string. Null leaves the old value.
pub(super) fn text(place: &mut String, value: Document<'_>, at: &At<'_>) -> Result<(), Error> {
    match value.kind() {
        JsonType::Text => *place = value.text(),
        JsonType::Null => {}
        _ => return Err(at.mismatch(value)),
    }
    Ok(())
}

/// A slice of Go. Reading it again decodes the new elements over the old ones.
#[derive(Clone)]
pub(super) struct Slots<T> {
    places: Vec<T>,
    /// Length of the slice; `None`: nil.
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
            JsonType::Null => *self = Self::default(),
            JsonType::List => {
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

    /// The elements; `None`: nil.
    pub fn list(mut self) -> Option<Vec<T>> {
        self.places.truncate(self.len?);
        Some(self.places)
    }
}
