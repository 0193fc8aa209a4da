//! Manifests and contracts in the binary form of stack items, as storage holds them.

use super::{Contract, Description, Manifest, Parameter, Permission};
use crate::execute::encode::Encoder;

impl Manifest {
    /// Writes the manifest.
    #[must_use]
    pub fn encode(&self, out: Encoder) -> Encoder {
        let out = out.structure(8).bytes(self.name.as_bytes());
        let out = out.each(&self.groups, |out, group| {
            out.structure(2).bytes(&group.key).bytes(&group.signature)
        });
        let out = out.empty_map();
        let out = out.each(&self.standards, |out, each| out.bytes(each.as_bytes()));
        let out = self.encode_abi(out);
        let out = out.each(&self.permissions, permission);
        let out = match &self.trusts {
            Some(trusts) => out.each(trusts, description),
            None => out.null(),
        };
        out.bytes(&self.extra)
    }

    fn encode_abi(&self, out: Encoder) -> Encoder {
        let out = out.structure(2).each(&self.methods, |out, method| {
            let out = out.structure(5).bytes(method.name.as_bytes());
            let out = parameters(out, &method.parameters);
            out.number(method.returns as u8).number(method.offset).boolean(method.safe)
        });
        out.each(&self.events, |out, event| {
            parameters(out.structure(2).bytes(event.name.as_bytes()), &event.parameters)
        })
    }
}

fn parameters(out: Encoder, list: &[Parameter]) -> Encoder {
    out.each(list, |out, each| out.structure(2).bytes(each.name.as_bytes()).number(each.kind as u8))
}

fn description(out: Encoder, who: &Description) -> Encoder {
    match who {
        Description::Any => out.null(),
        Description::Hash(hash) => out.bytes(hash),
        Description::Group(key) => out.bytes(key),
    }
}

fn permission(out: Encoder, permission: &Permission) -> Encoder {
    let out = description(out.structure(2), &permission.contract);
    match &permission.methods {
        Some(methods) => out.each(methods, |out, each| out.bytes(each.as_bytes())),
        None => out.null(),
    }
}

impl Contract {
    /// The value in the storage of ContractManagement.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let out = Encoder::default().array(5).number(self.id).number(self.updates);
        let out = out.bytes(&self.hash).bytes(&self.nef.encode());
        self.manifest.encode(out).done()
    }
}
