//! Manifests from JSON, as they are deployed.

use super::{
    Description, Error, Event, Group, Json, Manifest, Method, ParamType, Parameter, Permission,
    field,
};
use crate::types::{PublicKey, UInt160};

/// The longest manifest.
const MAX_MANIFEST: usize = 65_535;

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// It is no JSON, too long, or lacks what a manifest must have.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_MANIFEST || std::str::from_utf8(bytes).is_err() {
            return Err(field("manifest", "too long, or no UTF-8"));
        }
        let json = Json::parse(bytes)?;
        if !matches!(json, Json::Object(_)) {
            return Err(field("manifest", "no object"));
        }
        let features = json.get("features");
        if !matches!(features, Some(Json::Object(entries)) if entries.is_empty()) {
            return Err(field("features", "not empty"));
        }
        let abi = json.get("abi").unwrap_or(&Json::Null);
        Ok(Self {
            name: text_of(&json, "name")?,
            groups: match json.get("groups") {
                Some(Json::List(list)) => list.iter().map(group).collect::<Result<_, _>>()?,
                _ => return Err(field("groups", "no list")),
            },
            standards: list_of(&json, "supportedstandards", text)?,
            methods: list_of(abi, "methods", method)?,
            events: list_of(abi, "events", |json| {
                Ok(Event { name: text_of(json, "name")?, parameters: parameters(json)? })
            })?,
            permissions: list_of(&json, "permissions", permission)?,
            trusts: match json.get("trusts") {
                Some(Json::Text(all)) if all == "*" => None,
                Some(Json::List(list)) => {
                    Some(list.iter().map(description).collect::<Result<_, _>>()?)
                }
                _ => return Err(field("trusts", "neither a list nor *")),
            },
            extra: extra(&json),
        })
    }
}

fn extra(json: &Json) -> Vec<u8> {
    let mut out = String::new();
    json.get("extra").unwrap_or(&Json::Null).write(&mut out);
    out.into_bytes()
}

fn text(json: &Json) -> Result<String, Error> {
    match json {
        Json::Text(text) => Ok(text.clone()),
        Json::Null => Ok(String::new()),
        _ => Err(field("manifest", "a value is no text")),
    }
}

/// The text of a key, empty where it is missing.
fn text_of(json: &Json, key: &str) -> Result<String, Error> {
    json.get(key).map_or(Ok(String::new()), text)
}

/// The list of a key, empty where it is missing.
fn list_of<T>(
    json: &Json,
    key: &'static str,
    read: impl Fn(&Json) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::List(list)) => list.iter().map(read).collect(),
        Some(_) => Err(field(key, "no list")),
    }
}

fn parameters(json: &Json) -> Result<Vec<Parameter>, Error> {
    list_of(json, "parameters", |json| {
        Ok(Parameter { name: text_of(json, "name")?, kind: kind(json, "type")? })
    })
}

fn kind(json: &Json, key: &'static str) -> Result<ParamType, Error> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(ParamType::Any),
        Some(Json::Text(name)) => ParamType::from_name(name).ok_or(field("type", "unknown")),
        Some(_) => Err(field("type", "no text")),
    }
}

fn method(json: &Json) -> Result<Method, Error> {
    let offset = match json.get("offset") {
        None | Some(Json::Null) => 0,
        Some(Json::Number(digits)) => {
            digits.parse().map_err(|_| field("offset", "no whole number"))?
        }
        Some(_) => return Err(field("offset", "no number")),
    };
    let safe = match json.get("safe") {
        None | Some(Json::Null) => false,
        Some(Json::Bool(safe)) => *safe,
        Some(_) => return Err(field("safe", "no boolean")),
    };
    Ok(Method {
        name: text_of(json, "name")?,
        parameters: parameters(json)?,
        returns: kind(json, "returntype")?,
        offset,
        safe,
    })
}

fn permission(json: &Json) -> Result<Permission, Error> {
    let contract = match json.get("contract") {
        None | Some(Json::Null) => Description::Any,
        Some(json) => description(json)?,
    };
    let methods = match json.get("methods") {
        None => None,
        Some(Json::Text(all)) if all == "*" => None,
        Some(Json::List(list)) => Some(list.iter().map(text).collect::<Result<_, _>>()?),
        Some(Json::Null) => Some(Vec::new()),
        Some(_) => return Err(field("methods", "neither a list nor *")),
    };
    Ok(Permission { contract, methods })
}

fn description(json: &Json) -> Result<Description, Error> {
    let Json::Text(text) = json else { return Err(field("contract", "no text")) };
    let unknown = field("contract", "neither *, a hash nor a key");
    match text.len() {
        1 if text == "*" => Ok(Description::Any),
        66 => key(text).map(Description::Group),
        40 | 42 if text.len() == 40 || text.starts_with("0x") => {
            text.parse::<UInt160>().map(|hash| Description::Hash(hash.0)).map_err(|_| unknown)
        }
        _ => Err(unknown),
    }
}

fn key(text: &str) -> Result<PublicKey, Error> {
    let mut key = [0; 33];
    let digits = text.as_bytes().chunks_exact(2);
    if text.len() != 66 {
        return Err(field("key", "not 33 bytes"));
    }
    for (byte, digits) in key.iter_mut().zip(digits) {
        let digits = std::str::from_utf8(digits).ok().filter(|text| !text.contains('+'));
        let value = digits.and_then(|text| u8::from_str_radix(text, 16).ok());
        *byte = value.ok_or(field("key", "not hexadecimal"))?;
    }
    if crypto::is_p256_key(&key) { Ok(key) } else { Err(field("key", "not on the curve")) }
}

fn group(json: &Json) -> Result<Group, Error> {
    let signature = base64(&text_of(json, "signature")?);
    let signature = signature.and_then(|bytes| bytes.try_into().ok());
    Ok(Group {
        key: key(&text_of(json, "pubkey")?)?,
        signature: signature.ok_or(field("signature", "not 64 bytes in base 64"))?,
    })
}

/// Standard base 64 with its padding, line ends ignored.
fn base64(text: &str) -> Option<Vec<u8>> {
    crate::execute::native::base64::decode(text, crate::execute::native::base64::STANDARD)
}
