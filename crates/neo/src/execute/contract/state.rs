//! A deployed contract, and its hash.

use std::sync::Arc;

use super::{
    Description, Error, Event, Group, Manifest, Method, Nef, ParamType, Parameter, Permission,
    field,
};
use crate::{
    execute::vm::{Heap, Item, Script, opcode, serialize},
    types::UInt160,
};

/// A deployed contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Its id; negative for native contracts.
    pub id: i32,
    /// Number of updates.
    pub updates: u16,
    /// Its hash, which updates do not change.
    pub hash: [u8; 20],
    /// Its NEF file.
    pub nef: Nef,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its script, shared with the machine.
    pub script: Arc<Script>,
}

/// The hash of a contract: the hash of a script that pushes deployer, NEF checksum and name.
#[must_use]
pub fn contract_hash(sender: &[u8; 20], checksum: u32, name: &str) -> [u8; 20] {
    let mut script = vec![opcode::ABORT];
    push_bytes(&mut script, sender);
    push_integer(&mut script, checksum.into());
    push_bytes(&mut script, name.as_bytes());
    UInt160::of_script(&script).0
}

/// The hash of a native contract.
#[must_use]
pub fn native_hash(name: &str) -> [u8; 20] {
    contract_hash(&[0; 20], 0, name)
}

fn push_bytes(script: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        len @ 0..=0xff => script.extend([opcode::PUSHDATA1, len as u8]),
        len @ 0x100..=0xffff => {
            script.push(opcode::PUSHDATA2);
            script.extend_from_slice(&(len as u16).to_le_bytes());
        }
        len => {
            script.push(opcode::PUSHDATA4);
            script.extend_from_slice(&(len as u32).to_le_bytes());
        }
    }
    script.extend_from_slice(bytes);
}

/// Appends the shortest push of a non-negative integer.
fn push_integer(script: &mut Vec<u8>, value: i64) {
    match value {
        0..=16 => script.push(opcode::PUSH0 + value as u8),
        17..=0x7f => script.extend([opcode::PUSHINT8, value as u8]),
        0x80..=0x7fff => {
            script.push(opcode::PUSHINT16);
            script.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x8000..=0x7fff_ffff => {
            script.push(opcode::PUSHINT32);
            script.extend_from_slice(&(value as u32).to_le_bytes());
        }
        _ => {
            script.push(opcode::PUSHINT64);
            script.extend_from_slice(&value.to_le_bytes());
        }
    }
}

impl Contract {
    /// Creates a contract from its parts.
    #[must_use]
    pub fn new(id: i32, updates: u16, hash: [u8; 20], nef: Nef, manifest: Manifest) -> Self {
        let script = Arc::new(Script { code: nef.script.as_slice().into(), hash });
        Self { id, updates, hash, nef, manifest, script }
    }

    /// Decodes the value in the storage of ContractManagement.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a contract.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut heap = Heap::default();
        let item = serialize::deserialize(&mut heap, bytes)
            .map_err(|_| field("contract", "no serialized item"))?;
        let reader = Reader { heap: &heap };
        let [id, updates, hash, nef, manifest] = reader.fields(&item)?;
        let id = reader.number(id)?;
        let updates = reader.number(updates)?;
        let hash = reader.array(hash)?;
        let nef = Nef::decode(&reader.bytes(nef)?)?;
        let manifest = reader.manifest(manifest)?;
        let id = i32::try_from(id).map_err(|_| field("id", "out of range"))?;
        let updates = u16::try_from(updates).map_err(|_| field("updates", "out of range"))?;
        Ok(Self::new(id, updates, hash, nef, manifest))
    }
}

/// Reads items of a contract.
struct Reader<'a> {
    heap: &'a Heap,
}

impl<'a> Reader<'a> {
    fn list(&self, item: &Item) -> Result<&'a [Item], Error> {
        match item {
            Item::Array(place) | Item::Struct(place) => Ok(self.heap.list(*place)),
            _ => Err(field("contract", "no list")),
        }
    }

    fn fields<const N: usize>(&self, item: &Item) -> Result<&'a [Item; N], Error> {
        self.list(item)?.try_into().map_err(|_| field("contract", "wrong number of fields"))
    }

    fn number(&self, item: &Item) -> Result<i64, Error> {
        item.to_i64().map_err(|_| field("contract", "no number"))
    }

    fn bytes(&self, item: &Item) -> Result<Vec<u8>, Error> {
        item.to_bytes().map_err(|_| field("contract", "no bytes"))
    }

    fn text(&self, item: &Item) -> Result<String, Error> {
        item.to_text().map_err(|_| field("contract", "no text"))
    }

    fn array<const N: usize>(&self, item: &Item) -> Result<[u8; N], Error> {
        item.to_array().map_err(|_| field("contract", "wrong length"))
    }

    fn each<T>(
        &self,
        item: &Item,
        read: impl Fn(&Self, &Item) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.list(item)?.iter().map(|each| read(self, each)).collect()
    }

    fn manifest(&self, item: &Item) -> Result<Manifest, Error> {
        let [name, groups, _features, standards, abi, permissions, trusts, extra] =
            self.fields(item)?;
        let [methods, events] = self.fields(abi)?;
        Ok(Manifest {
            name: self.text(name)?,
            groups: self.each(groups, |this, item| {
                let [key, signature] = this.fields(item)?;
                Ok(Group { key: this.array(key)?, signature: this.array(signature)? })
            })?,
            standards: self.each(standards, Self::text)?,
            methods: self.each(methods, Self::method)?,
            events: self.each(events, |this, item| {
                let [name, parameters] = this.fields(item)?;
                Ok(Event { name: this.text(name)?, parameters: this.parameters(parameters)? })
            })?,
            permissions: self.each(permissions, |this, item| {
                let [contract, methods] = this.fields(item)?;
                let methods = match methods {
                    Item::Null => None,
                    list => Some(this.each(list, Self::text)?),
                };
                Ok(Permission { contract: this.description(contract)?, methods })
            })?,
            trusts: match trusts {
                Item::Null => None,
                list => Some(self.each(list, Self::description)?),
            },
            extra: self.bytes(extra)?,
        })
    }

    fn method(&self, item: &Item) -> Result<Method, Error> {
        let [name, parameters, returns, offset, safe] = self.fields(item)?;
        Ok(Method {
            name: self.text(name)?,
            parameters: self.parameters(parameters)?,
            returns: self.kind(returns)?,
            offset: self.number(offset)?,
            safe: safe.to_bool().map_err(|_| field("safe", "no boolean"))?,
        })
    }

    fn parameters(&self, item: &Item) -> Result<Vec<Parameter>, Error> {
        self.each(item, |this, item| {
            let [name, kind] = this.fields(item)?;
            Ok(Parameter { name: this.text(name)?, kind: this.kind(kind)? })
        })
    }

    fn kind(&self, item: &Item) -> Result<ParamType, Error> {
        let byte = u8::try_from(self.number(item)?).ok();
        byte.and_then(ParamType::from_byte).ok_or(field("type", "unknown"))
    }

    fn description(&self, item: &Item) -> Result<Description, Error> {
        if matches!(item, Item::Null) {
            return Ok(Description::Any);
        }
        match self.bytes(item)?.len() {
            20 => Ok(Description::Hash(self.array(item)?)),
            _ => Ok(Description::Group(self.array(item)?)),
        }
    }
}
