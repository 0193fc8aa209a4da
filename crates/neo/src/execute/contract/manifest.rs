//! Manifests: methods, events and permissions of a contract.

use super::{Error, text};
use crate::{
    execute::vm::{Item, Type},
    types::PublicKey,
};

/// The types of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum ParamType {
    Any = 0x00,
    Boolean = 0x10,
    Integer = 0x11,
    ByteArray = 0x12,
    String = 0x13,
    Hash160 = 0x14,
    Hash256 = 0x15,
    PublicKey = 0x16,
    Signature = 0x17,
    Array = 0x20,
    Map = 0x22,
    InteropInterface = 0x30,
    Void = 0xff,
}

impl ParamType {
    const NAMES: [(Self, &'static str); 13] = [
        (Self::Any, "Any"),
        (Self::Boolean, "Boolean"),
        (Self::Integer, "Integer"),
        (Self::ByteArray, "ByteArray"),
        (Self::String, "String"),
        (Self::Hash160, "Hash160"),
        (Self::Hash256, "Hash256"),
        (Self::PublicKey, "PublicKey"),
        (Self::Signature, "Signature"),
        (Self::Array, "Array"),
        (Self::Map, "Map"),
        (Self::InteropInterface, "InteropInterface"),
        (Self::Void, "Void"),
    ];

    /// By its number.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::NAMES.iter().map(|(kind, _)| *kind).find(|kind| *kind as u8 == byte)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// By the names that manifests may use (`smartcontract.ParseParamType`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let lower = |char| match char {
            'İ' => 'i',
            '\u{212a}' => 'k',
            char => char.to_ascii_lowercase(),
        };
        Some(match name.chars().map(lower).collect::<String>().as_str() {
            "signature" => Self::Signature,
            "bool" | "boolean" => Self::Boolean,
            "int" | "integer" => Self::Integer,
            "hash160" => Self::Hash160,
            "hash256" => Self::Hash256,
            "bytes" | "bytearray" | "bytestring" | "filebytes" => Self::ByteArray,
            "key" | "publickey" => Self::PublicKey,
            "string" => Self::String,
            "array" | "struct" => Self::Array,
            "map" => Self::Map,
            "interopinterface" => Self::InteropInterface,
            "void" => Self::Void,
            "any" => Self::Any,
            _ => return None,
        })
    }

    /// Reports whether an item has this type.
    #[must_use]
    pub fn matches(self, item: &Item) -> bool {
        let kind = item.kind();
        let bytes_or_null = matches!(kind, Type::ByteString | Type::Buffer | Type::Any);
        let length = |expected: usize| {
            kind == Type::Any
                || bytes_or_null && item.with_bytes(|bytes| bytes.len() == expected) == Ok(true)
        };
        if kind == Type::Pointer {
            return false;
        }
        match self {
            Self::Any => true,
            Self::Boolean => kind == Type::Boolean,
            Self::Integer => kind == Type::Integer,
            Self::ByteArray => bytes_or_null,
            Self::String => {
                kind != Type::Any
                    && bytes_or_null
                    && item.with_bytes(|bytes| std::str::from_utf8(bytes).is_ok()) == Ok(true)
            }
            Self::Hash160 => length(20),
            Self::Hash256 => length(32),
            Self::PublicKey => length(33),
            Self::Signature => length(64),
            Self::Array => matches!(kind, Type::Any | Type::Array | Type::Struct),
            Self::Map => matches!(kind, Type::Any | Type::Map),
            Self::InteropInterface => matches!(kind, Type::Any | Type::Interop),
            Self::Void => false,
        }
    }
}

/// A parameter of a method or an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ParamType,
}

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its return type.
    pub returns: ParamType,
    /// Its offset in the script.
    pub offset: i64,
    /// Whether it is safe (read-only).
    pub safe: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A group that a contract belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's key.
    pub key: PublicKey,
    /// Its signature of the contract's hash.
    pub signature: [u8; 64],
}

/// A permission descriptor: one contract, a group, or all contracts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Description {
    /// All contracts.
    Any,
    /// One contract.
    Hash([u8; 20]),
    /// The contracts of a group.
    Group(PublicKey),
}

/// All contracts.
pub const WHO_ANY: Description = Description::Any;

/// A permission to call contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The contracts.
    pub contract: Description,
    /// The methods; `None`: all.
    pub methods: Option<Vec<String>>,
}

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The contract's name.
    pub name: String,
    /// The groups that it belongs to.
    pub groups: Vec<Group>,
    /// Supported standards.
    pub standards: Vec<String>,
    /// Its methods.
    pub methods: Vec<Method>,
    /// Its events.
    pub events: Vec<Event>,
    /// Permissions.
    pub permissions: Vec<Permission>,
    /// The trusted contracts; `None`: all.
    pub trusts: Option<Vec<Description>>,
    /// Custom data, as JSON.
    pub extra: Vec<u8>,
}

impl Manifest {
    /// The method with a name and a number of parameters (`None`: any number).
    #[must_use]
    pub fn method(&self, name: &str, parameters: Option<usize>) -> Option<&Method> {
        self.methods.iter().find(|method| {
            method.name == name
                && parameters.is_none_or(|parameters| method.parameters.len() == parameters)
        })
    }

    /// Reports whether the contract may call a method of another one.
    #[must_use]
    pub fn can_call(&self, hash: &[u8; 20], other: &Self, method: &str) -> bool {
        self.permissions.iter().any(|permission| {
            let methods = permission.methods.as_ref();
            match &permission.contract {
                Description::Hash(allowed) if allowed != hash => false,
                Description::Group(key) => other.groups.iter().any(|group| group.key == *key),
                _ => methods.is_none_or(|methods| methods.iter().any(|each| each == method)),
            }
        })
    }

    /// Reports whether it names a standard.
    #[must_use]
    pub fn supports(&self, standard: &str) -> bool {
        self.standards.iter().any(|each| each == standard)
    }

    /// Checks all but the groups' signatures.
    ///
    /// # Errors
    ///
    /// Returns neo-go's message for an empty or duplicate name, an invalid offset or type.
    pub fn check(&self) -> Result<(), Error> {
        if self.name.is_empty() {
            return Err(text("no name"));
        }
        if self.standards.iter().any(String::is_empty) {
            return Err(text("invalid nameless supported standard"));
        }
        if repeated(&self.standards) {
            return Err(text("duplicate supported standards"));
        }
        self.check_abi()?;
        let keys: Vec<_> = self.groups.iter().map(|group| group.key).collect();
        if repeated(&keys) {
            return Err(text("duplicate group keys"));
        }
        if self.trusts.as_ref().is_some_and(|trusts| repeated(trusts)) {
            return Err(text("duplicate trusted contracts"));
        }
        for permission in &self.permissions {
            let methods = permission.methods.as_deref().unwrap_or_default();
            if methods.iter().any(String::is_empty) {
                return Err(text("empty method name"));
            }
            if repeated(methods) {
                return Err(text("duplicate method names"));
            }
        }
        let contracts: Vec<_> = self.permissions.iter().map(|each| &each.contract).collect();
        if repeated(&contracts) {
            return Err(text("contracts have duplicates"));
        }
        Ok(())
    }

    fn check_abi(&self) -> Result<(), Error> {
        if self.methods.is_empty() {
            return Err(text("ABI: no methods"));
        }
        for method in &self.methods {
            let offset = if method.offset < 0 { Err(text("negative offset")) } else { Ok(()) };
            check_named("method", &method.name, &method.parameters, offset)?;
        }
        let methods: Vec<_> =
            self.methods.iter().map(|each| (&each.name, each.parameters.len())).collect();
        if repeated(&methods) {
            return Err(text("ABI: duplicate method specifications"));
        }
        for event in &self.events {
            check_named("event", &event.name, &event.parameters, Ok(()))?;
        }
        let events: Vec<_> = self.events.iter().map(|each| &each.name).collect();
        if repeated(&events) { Err(text("ABI: duplicate event names")) } else { Ok(()) }
    }
}

/// Checks a method or an event. `offset` is the result of the offset check of a method.
fn check_named(
    what: &str,
    name: &str,
    parameters: &[Parameter],
    offset: Result<(), Error>,
) -> Result<(), Error> {
    let checked = check_name(name).and(offset).and_then(|()| check_parameters(parameters));
    let count = parameters.len();
    checked.map_err(|error| Error::Syntax(format!("ABI: {what} {name:?}/{count}: {error}")))
}

fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() { Err(text("empty or absent name")) } else { Ok(()) }
}

fn check_parameters(parameters: &[Parameter]) -> Result<(), Error> {
    for (number, Parameter { name, kind }) in parameters.iter().enumerate() {
        let kind = if *kind == ParamType::Void { Err(text("void parameter")) } else { Ok(()) };
        let named = |error| Error::Syntax(format!("parameter #{number}/{name:?}: {error}"));
        check_name(name).and(kind).map_err(named)?;
    }
    let names: Vec<_> = parameters.iter().map(|each| &each.name).collect();
    if repeated(&names) { Err(text("duplicate parameter name")) } else { Ok(()) }
}

pub(super) fn repeated<T: Ord>(list: &[T]) -> bool {
    let mut sorted: Vec<&T> = list.iter().collect();
    sorted.sort();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}
