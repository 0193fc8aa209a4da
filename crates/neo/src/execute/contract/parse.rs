//! Parses manifests from JSON.
//!
//! It follows Go's `encoding/json` with the types of neo-go's package `manifest`: a repeated key is
//! decoded over the first value, keys match in either case, and null leaves a value unchanged or
//! makes a list nil.

use super::{
    Description, Error, Event, Group, Manifest, Method, ParamType, Parameter, Permission,
    document::{Document, JsonType},
    field,
    fields::{At, Slots, object, text, text_of},
};
use crate::execute::{interop::keys, native::base64};
use crate::types::PublicKey;

/// Length limit of a manifest.
const MAX_MANIFEST: usize = 65_535;

/// A method or an event.
#[derive(Clone, Default)]
struct Draft {
    name: String,
    parameters: Slots<(String, Option<ParamType>)>,
    returns: Option<ParamType>,
    offset: i64,
    safe: bool,
}

/// The trusted contracts: the last list, and whether all are trusted.
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
    /// Returns an error if the text is not JSON, is too long, or lacks a required field.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_MANIFEST {
            return Err(field("manifest", "too long"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Error::NotUtf8)?;
        let mut parts = Parts::default();
        let at = At("", "", "manifest.Manifest");
        object(&at, Document::check(text)?, |key, value| parts.read(key, value))?;
        parts.manifest()
    }
}

impl<'a> Parts<'a> {
    fn read(&mut self, key: &str, value: Document<'a>) -> Result<(), Error> {
        match key {
            "name" => text(&mut self.name, value, &text_of("name")),
            "abi" => {
                object(&At("Manifest", "abi", "manifest.ABI"), value, |key, value| match key {
                    "methods" => {
                        let at = At("ABI", "abi.methods", "[]manifest.Method");
                        self.methods.read(&at, value, method)
                    }
                    "events" => {
                        let at = At("ABI", "abi.events", "[]manifest.Event");
                        self.events.read(&at, value, event)
                    }
                    _ => Ok(()),
                })
            }
            "features" => {
                self.features = Some(value);
                Ok(())
            }
            "groups" => {
                let at = At("Manifest", "groups", "[]manifest.Group");
                self.groups.read(&at, value, |place, value| {
                    *place = Some(group(value)?);
                    Ok(())
                })
            }
            "permissions" => {
                let at = At("Manifest", "permissions", "[]manifest.Permission");
                self.permissions.read(&at, value, |place, value| {
                    *place = Some(permission(value)?);
                    Ok(())
                })
            }
            "supportedstandards" => {
                let at = At("Manifest", "supportedstandards", "[]string");
                let of_element = text_of("supportedstandards");
                self.standards.read(&at, value, |place, value| text(place, value, &of_element))
            }
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

fn method(draft: &mut Draft, value: Document<'_>) -> Result<(), Error> {
    object(&At("ABI", "abi.methods", "manifest.Method"), value, |key, value| match key {
        "name" => text(&mut draft.name, value, &At("Method", "abi.methods.name", "string")),
        "parameters" => read_parameters(draft, value, "Method", "abi.methods.parameters"),
        "returntype" => {
            kind(&mut draft.returns, value, &At("Method", "abi.methods.returntype", "string"))
        }
        "offset" => {
            let at = At("Method", "abi.methods.offset", "int");
            match value.kind() {
                JsonType::Null => Ok(()),
                JsonType::Number => {
                    draft.offset = value.raw().parse().map_err(|_| at.mismatch(value))?;
                    Ok(())
                }
                _ => Err(at.mismatch(value)),
            }
        }
        "safe" => match value.kind() {
            JsonType::Null => Ok(()),
            JsonType::Bool => {
                draft.safe = value.raw() == "true";
                Ok(())
            }
            _ => Err(At("Method", "abi.methods.safe", "bool").mismatch(value)),
        },
        _ => Ok(()),
    })
}

/// An event has a name and parameters alone.
fn event(draft: &mut Draft, value: Document<'_>) -> Result<(), Error> {
    object(&At("ABI", "abi.events", "manifest.Event"), value, |key, value| match key {
        "name" => text(&mut draft.name, value, &At("Event", "abi.events.name", "string")),
        "parameters" => read_parameters(draft, value, "Event", "abi.events.parameters"),
        _ => Ok(()),
    })
}

/// Reads the parameters of a method or an event, a struct of Go with this path.
fn read_parameters(
    draft: &mut Draft,
    value: Document<'_>,
    of: &str,
    path: &str,
) -> Result<(), Error> {
    draft.parameters.read(&At(of, path, "[]manifest.Parameter"), value, |place, value| {
        object(&At(of, path, "manifest.Parameter"), value, |key, value| {
            let path = format!("{path}.{key}");
            let at = At("Parameter", &path, "string");
            match key {
                "name" => text(&mut place.0, value, &at),
                "type" => kind(&mut place.1, value, &at),
                _ => Ok(()),
            }
        })
    })
}

fn parameters(list: Slots<(String, Option<ParamType>)>) -> Vec<Parameter> {
    let parameter =
        |(name, kind): (_, Option<_>)| Parameter { name, kind: kind.unwrap_or(ParamType::Any) };
    list.list().into_iter().flatten().map(parameter).collect()
}

/// Reads a type. Null is an error.
fn kind(place: &mut Option<ParamType>, value: Document<'_>, at: &At<'_>) -> Result<(), Error> {
    let mut name = String::new();
    text(&mut name, value, at)?;
    let unknown = || Error::Syntax(format!("bad parameter type: {name}"));
    *place = Some(ParamType::from_name(&name).ok_or_else(unknown)?);
    Ok(())
}

fn permission(value: Document<'_>) -> Result<Permission, Error> {
    let mut permission = Permission { contract: Description::Any, methods: None };
    let at = At("Manifest", "permissions", "manifest.permissionAux");
    object(&at, value, |key, value| {
        match key {
            "contract" => {
                permission.contract = description(value, &text_of("permissions.contract"))?;
            }
            // "*" leaves the list nil
            "methods" if value.raw() == "\"*\"" => {}
            "methods" => {
                let mut methods = Slots::default();
                let at = At("Manifest", "permissions.methods", "[]string");
                let of_element = text_of("permissions.methods");
                methods.read(&at, value, |place, value| text(place, value, &of_element))?;
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
            let at = At("Manifest", "trusts", "[]manifest.PermissionDesc");
            list.read(&at, value, |place, value| {
                *place = Some(description(value, &text_of("trusts"))?);
                Ok(())
            })?;
            self.list = list.list().map(|list| list.into_iter().flatten().collect());
        }
        Ok(())
    }

    /// The trusted contracts; `None`: all. A list before `"*"` is checked anyway.
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

fn description(value: Document<'_>, at: &At<'_>) -> Result<Description, Error> {
    let mut name = String::new();
    text(&mut name, value, at)?;
    let digits = match name.len() {
        1 if name == "*" => return Ok(Description::Any),
        66 => return key(&name).map(Description::Group),
        42 => name.strip_prefix("0x").ok_or_else(|| super::text("invalid uint160"))?,
        40 => &*name,
        _ => return Err(super::text("unknown permission")),
    };
    let hash = <[u8; 20]>::try_from(hex(digits)?);
    let mut hash = hash.map_err(|_| super::text("unknown permission"))?;
    hash.reverse();
    Ok(Description::Hash(hash))
}

/// Decodes hexadecimal digits, with the errors of Go's `encoding/hex`.
fn hex(digits: &str) -> Result<Vec<u8>, Error> {
    let value = |digit: u8| {
        let value = char::from(digit).to_digit(16).map(|value| value as u8);
        let char = char::from(digit);
        let shown = if char.is_control() { String::new() } else { format!(" '{char}'") };
        value.ok_or_else(|| {
            Error::Syntax(format!("encoding/hex: invalid byte: U+{:04X}{shown}", u32::from(digit)))
        })
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Ok(value(*high)? << 4 | value(*low)?);
    let bytes = pairs.iter().map(byte).collect::<Result<_, Error>>()?;
    match rest.first() {
        None => Ok(bytes),
        Some(digit) => {
            value(*digit)?;
            Err(super::text("encoding/hex: odd length hex string"))
        }
    }
}

/// A key in either form, compressed.
fn key(digits: &str) -> Result<PublicKey, Error> {
    keys::public_key(&hex(digits)?).map_err(|fault| Error::Syntax(fault.to_string()))
}

fn group(value: Document<'_>) -> Result<Group, Error> {
    let (mut digits, mut signature) = (String::new(), Vec::new());
    let at = At("Manifest", "groups", "manifest.groupAux");
    object(&at, value, |key, value| match key {
        "pubkey" => text(&mut digits, value, &text_of("groups.pubkey")),
        "signature" => bytes(&mut signature, value),
        _ => Ok(()),
    })?;
    let key = key(&digits)?;
    let signature = signature.try_into().map_err(|_| super::text("wrong signature length"))?;
    Ok(Group { key, signature })
}

/// Reads bytes: padded base 64 (line ends are ignored) or a list of numbers.
fn bytes(place: &mut Vec<u8>, value: Document<'_>) -> Result<(), Error> {
    *place = match value.kind() {
        JsonType::Text => {
            let text = value.text().into_bytes();
            let fault = || {
                let at = base64::fault_at(&text, &base64::STANDARD);
                Error::Syntax(format!("illegal base64 data at input byte {at}"))
            };
            base64::decode(&text, &base64::STANDARD).ok_or_else(fault)?
        }
        JsonType::Null => Vec::new(),
        JsonType::List => {
            let old = std::mem::take(place);
            let at = At("Manifest", "groups.signature", "uint8");
            let byte = |(index, value): (usize, Document<'_>)| match value.kind() {
                JsonType::Null => Ok(old.get(index).copied().unwrap_or(0)),
                _ => value.raw().parse().map_err(|_| at.mismatch(value)),
            };
            value.elements().enumerate().map(byte).collect::<Result<_, Error>>()?
        }
        _ => return Err(At("Manifest", "groups.signature", "[]uint8").mismatch(value)),
    };
    Ok(())
}

#[cfg(test)]
mod tests;
