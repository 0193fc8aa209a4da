//! Manifests from JSON, as they are deployed.
//!
//! The rules are those of Go's `encoding/json` over the types of neo-go's package `manifest`: a
//! key that comes again is read over the value of the first one, letters of keys match in either
//! case, and null leaves a value as it is or makes a list nil.

use super::{
    Description, Error, Event, Group, Manifest, Method, ParamType, Parameter, Permission,
    document::{Document, Kind},
    field,
};
use crate::execute::{interop::keys, native::base64};
use crate::types::PublicKey;

/// The longest manifest.
const MAX_MANIFEST: usize = 65_535;

/// A list of Go. Read again, it keeps its old elements as the places of the new ones.
#[derive(Clone)]
struct Slots<T> {
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
    fn read(
        &mut self,
        key: &'static str,
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
            _ => return Err(field(key, "no list")),
        }
        Ok(())
    }

    /// The elements; none: nil.
    fn list(mut self) -> Option<Vec<T>> {
        self.places.truncate(self.len?);
        Some(self.places)
    }
}

/// A method or an event.
#[derive(Clone, Default)]
struct Draft {
    name: String,
    parameters: Slots<(String, Option<ParamType>)>,
    returns: Option<ParamType>,
    offset: i64,
    safe: bool,
}

/// The lists of contracts that a manifest trusts: the last one, and whether all are trusted.
#[derive(Default)]
struct Trusts {
    all: bool,
    list: Option<Vec<Description>>,
}

#[derive(Default)]
struct Parts<'a> {
    name: String,
    methods: Slots<Draft>,
    events: Slots<Draft>,
    features: Option<Document<'a>>,
    groups: Slots<Option<Group>>,
    permissions: Slots<Option<Permission>>,
    standards: Slots<String>,
    trusts: Trusts,
    extra: Option<Document<'a>>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// Returns an error if it is no JSON, too long, or lacks what a manifest must have.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_MANIFEST);
        let text = text.ok_or(field("manifest", "too long, or no UTF-8"))?;
        let mut parts = Parts::default();
        object("manifest", Document::check(text)?, |key, value| parts.read(key, value))?;
        parts.manifest()
    }
}

impl<'a> Parts<'a> {
    fn read(&mut self, key: &str, value: Document<'a>) -> Result<(), Error> {
        match key {
            "name" => text(&mut self.name, value),
            "abi" => object("abi", value, |key, value| match key {
                "methods" => self.methods.read("methods", value, draft),
                "events" => self.events.read("events", value, draft),
                _ => Ok(()),
            }),
            "features" => {
                self.features = Some(value);
                Ok(())
            }
            "groups" => self.groups.read("groups", value, |place, value| {
                *place = Some(group(value)?);
                Ok(())
            }),
            "permissions" => self.permissions.read("permissions", value, |place, value| {
                *place = Some(permission(value)?);
                Ok(())
            }),
            "supportedstandards" => self.standards.read("supportedstandards", value, text),
            "trusts" => self.trusts.read(value),
            "extra" => {
                self.extra = Some(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn manifest(self) -> Result<Manifest, Error> {
        let is_empty = |features: Document<'_>| features.normalized() == "{}";
        if !self.features.is_some_and(is_empty) {
            return Err(super::text("invalid features"));
        }
        let groups = self.groups.list().ok_or(super::text("null groups"))?;
        let methods = self.methods.list().unwrap_or_default().into_iter().map(|draft| Method {
            returns: draft.returns.unwrap_or(ParamType::Any),
            offset: draft.offset,
            safe: draft.safe,
            parameters: parameters(draft.parameters),
            name: draft.name,
        });
        let events = self
            .events
            .list()
            .unwrap_or_default()
            .into_iter()
            .map(|draft| Event { parameters: parameters(draft.parameters), name: draft.name });
        Ok(Manifest {
            name: self.name,
            groups: groups.into_iter().flatten().collect(),
            standards: self.standards.list().unwrap_or_default(),
            methods: methods.collect(),
            events: events.collect(),
            permissions: self.permissions.list().into_iter().flatten().flatten().collect(),
            trusts: self.trusts.list()?,
            extra: self.extra.map_or("null".into(), Document::normalized).into_bytes(),
        })
    }
}

/// Reads the members of an object; null has none.
fn object<'a>(
    what: &'static str,
    value: Document<'a>,
    mut read: impl FnMut(&str, Document<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    match value.kind() {
        Kind::Null => Ok(()),
        Kind::Object => value.members().try_for_each(|(key, value)| read(&folded(&key), value)),
        _ => Err(field(what, "no object")),
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
fn text(place: &mut String, value: Document<'_>) -> Result<(), Error> {
    match value.kind() {
        Kind::Text => *place = value.text(),
        Kind::Null => {}
        _ => return Err(field("manifest", "a value is no text")),
    }
    Ok(())
}

fn draft(draft: &mut Draft, value: Document<'_>) -> Result<(), Error> {
    object("method", value, |key, value| match key {
        "name" => text(&mut draft.name, value),
        "parameters" => draft.parameters.read("parameters", value, |place, value| {
            object("parameter", value, |key, value| match key {
                "name" => text(&mut place.0, value),
                "type" => kind(&mut place.1, value),
                _ => Ok(()),
            })
        }),
        "returntype" => kind(&mut draft.returns, value),
        "offset" => match value.kind() {
            Kind::Null => Ok(()),
            Kind::Number => {
                let number = value.raw().parse();
                draft.offset = number.map_err(|_| field("offset", "no whole number"))?;
                Ok(())
            }
            _ => Err(field("offset", "no number")),
        },
        "safe" => match value.kind() {
            Kind::Null => Ok(()),
            Kind::Bool => {
                draft.safe = value.raw() == "true";
                Ok(())
            }
            _ => Err(field("safe", "no boolean")),
        },
        _ => Ok(()),
    })
}

fn parameters(list: Slots<(String, Option<ParamType>)>) -> Vec<Parameter> {
    let parameter =
        |(name, kind): (_, Option<_>)| Parameter { name, kind: kind.unwrap_or(ParamType::Any) };
    list.list().into_iter().flatten().map(parameter).collect()
}

/// Reads a type, which null is not.
fn kind(place: &mut Option<ParamType>, value: Document<'_>) -> Result<(), Error> {
    let name = if value.kind() == Kind::Text { value.text() } else { String::new() };
    *place = Some(ParamType::from_name(&name).ok_or(field("type", "unknown"))?);
    Ok(())
}

fn permission(value: Document<'_>) -> Result<Permission, Error> {
    let mut permission = Permission { contract: Description::Any, methods: None };
    object("permission", value, |key, value| {
        match key {
            "contract" => permission.contract = description(value)?,
            // with all of them nothing changes: the list is nil before
            "methods" if value.raw() == "\"*\"" => {}
            "methods" => {
                let mut methods = Slots::default();
                methods.read("methods", value, text)?;
                permission.methods = methods.list();
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(permission)
}

impl Trusts {
    fn read(&mut self, value: Document<'_>) -> Result<(), Error> {
        self.all = value.raw() == "\"*\"";
        if !self.all {
            let mut list = Slots::default();
            list.read("trusts", value, |place, value| {
                *place = Some(description(value)?);
                Ok(())
            })?;
            self.list = list.list().map(|list| list.into_iter().flatten().collect());
        }
        Ok(())
    }

    /// The trusted contracts; none: all. A list before `"*"` is checked all the same.
    fn list(self) -> Result<Option<Vec<Description>>, Error> {
        match self.list {
            None if !self.all => Err(super::text("invalid (null?) trusts")),
            Some(list) if self.all && super::manifest::repeated(&list) => {
                Err(super::text("duplicate trusted contracts"))
            }
            list => Ok(list.filter(|_| !self.all)),
        }
    }
}

fn description(value: Document<'_>) -> Result<Description, Error> {
    let mut name = String::new();
    text(&mut name, value)?;
    let hash = match name.len() {
        1 if name == "*" => return Ok(Description::Any),
        66 => return key(&name).map(Description::Group),
        42 => name.strip_prefix("0x"),
        40 => Some(&*name),
        _ => None,
    };
    let hash = hash.and_then(hex).and_then(|bytes| <[u8; 20]>::try_from(bytes).ok());
    let mut hash = hash.ok_or(field("contract", "neither *, a hash nor a key"))?;
    hash.reverse();
    Ok(Description::Hash(hash))
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let byte = |pair: &[u8]| Some(value(pair[0])? << 4 | value(pair[1])?);
    let pairs = digits.as_bytes().chunks_exact(2);
    if pairs.remainder().is_empty() { pairs.map(byte).collect() } else { None }
}

/// A key in either form, compressed.
fn key(digits: &str) -> Result<PublicKey, Error> {
    let bytes = hex(digits).ok_or(field("key", "not hexadecimal"))?;
    keys::public_key(&bytes).map_err(|_| field("key", "no point of P-256"))
}

fn group(value: Document<'_>) -> Result<Group, Error> {
    let (mut digits, mut signature) = (String::new(), Vec::new());
    object("group", value, |key, value| match key {
        "pubkey" => text(&mut digits, value),
        "signature" => bytes(&mut signature, value),
        _ => Ok(()),
    })?;
    let signature = signature.try_into().map_err(|_| super::text("wrong signature length"))?;
    Ok(Group { key: key(&digits)?, signature })
}

/// Reads bytes: base 64 with its padding, line ends ignored, or a list of numbers.
fn bytes(place: &mut Vec<u8>, value: Document<'_>) -> Result<(), Error> {
    *place = match value.kind() {
        Kind::Text => base64::decode(&value.text(), base64::STANDARD),
        Kind::Null => Some(Vec::new()),
        Kind::List => {
            let old = std::mem::take(place);
            let byte = |(index, value): (usize, Document<'_>)| match value.kind() {
                Kind::Null => Some(old.get(index).copied().unwrap_or(0)),
                _ => value.raw().parse().ok(),
            };
            value.elements().enumerate().map(byte).collect()
        }
        _ => None,
    }
    .ok_or(field("signature", "neither base 64 nor bytes"))?;
    Ok(())
}
