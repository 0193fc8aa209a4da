//! The contract that generated transactions call: a token with storage, loops, maps, exceptions,
//! calls of other contracts and oracle requests.

use super::script::Script;
use anyhow::{Context, Result};
use blockmill_neo::execute::contract::{Nef, contract_hash, native_hash};
use blockmill_neo::execute::vm::opcode::*;
use std::fmt::Write;

/// Initial balance of the token's owner.
const SUPPLY: i64 = 1_000_000_000_000;
/// Types of items for `CONVERT`.
const TO_INTEGER: [u8; 2] = [CONVERT, 0x21];
const TO_BYTES: [u8; 2] = [CONVERT, 0x28];
/// `FindOptions`: values only, and backwards.
const VALUES: i64 = 0x04;
const VALUES_BACKWARDS: i64 = 0x84;

/// A method of the contract.
struct Method {
    name: &'static str,
    /// Names and types.
    parameters: &'static [(&'static str, &'static str)],
    returns: &'static str,
    safe: bool,
}

const fn method(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    returns: &'static str,
) -> Method {
    Method { name, parameters, returns, safe: false }
}

const fn safe(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    returns: &'static str,
) -> Method {
    Method { name, parameters, returns, safe: true }
}

const METHODS: [Method; 22] = [
    method("_deploy", &[("data", "Any"), ("update", "Boolean")], "Void"),
    safe("symbol", &[], "String"),
    safe("decimals", &[], "Integer"),
    safe("totalSupply", &[], "Integer"),
    safe("balanceOf", &[("account", "Hash160")], "Integer"),
    method(
        "transfer",
        &[("from", "Hash160"), ("to", "Hash160"), ("amount", "Integer"), ("data", "Any")],
        "Boolean",
    ),
    method("put", &[("key", "ByteArray"), ("value", "ByteArray")], "Void"),
    method("del", &[("key", "ByteArray")], "Void"),
    method("scan", &[("prefix", "ByteArray"), ("limit", "Integer")], "Integer"),
    method("scanBack", &[("prefix", "ByteArray"), ("limit", "Integer")], "Integer"),
    method("work", &[("rounds", "Integer"), ("seed", "ByteArray")], "ByteArray"),
    method("info", &[], "Array"),
    method("fail", &[("key", "ByteArray")], "Void"),
    method(
        "forward",
        &[("contract", "Hash160"), ("method", "String"), ("arguments", "Array")],
        "Any",
    ),
    method("update", &[("nef", "ByteArray"), ("manifest", "ByteArray")], "Void"),
    method("destroy", &[], "Void"),
    method(
        "ask",
        &[("url", "String"), ("filter", "Any"), ("data", "Any"), ("gas", "Integer")],
        "Void",
    ),
    method(
        "answered",
        &[("url", "String"), ("data", "Any"), ("code", "Integer"), ("result", "ByteArray")],
        "Void",
    ),
    method(
        "onNEP17Payment",
        &[("from", "Hash160"), ("amount", "Integer"), ("data", "Any")],
        "Void",
    ),
    safe("verify", &[], "Boolean"),
    safe("version", &[], "Integer"),
    method("burn", &[("gas", "Integer")], "Void"),
];

const EVENTS: &str = concat!(
    r#"{"name":"Transfer","parameters":[{"name":"from","type":"Hash160"},"#,
    r#"{"name":"to","type":"Hash160"},{"name":"amount","type":"Integer"}]},"#,
    r#"{"name":"Work","parameters":[{"name":"rounds","type":"Integer"},"#,
    r#"{"name":"hash","type":"ByteArray"}]}"#,
);

/// A contract that can be deployed.
#[derive(Clone, Debug)]
pub struct Deployment {
    name: String,
    nef: Nef,
    /// Its NEF file.
    pub code: Vec<u8>,
    /// Its manifest.
    pub manifest: Vec<u8>,
}

impl Deployment {
    /// Builds a version of the contract with this name.
    pub fn new(name: &str, version: u8) -> Result<Self> {
        let code = code(version);
        let manifest = manifest(name, &code)?;
        let nef = Nef::new("blockmill", code.done());
        Ok(Self { name: name.to_owned(), code: nef.encode(), nef, manifest })
    }

    /// Its hash if this account deploys it.
    pub fn hash(&self, sender: &[u8; 20]) -> [u8; 20] {
        contract_hash(sender, self.nef.checksum, &self.name)
    }
}

fn manifest(name: &str, code: &Script) -> Result<Vec<u8>> {
    let mut methods = String::new();
    for Method { name, parameters, returns, safe } in &METHODS {
        let place = code.place(name).with_context(|| format!("no code for {name}"))?;
        let comma = if methods.is_empty() { "" } else { "," };
        let of = |(name, kind): &(&str, &str)| format!(r#"{{"name":"{name}","type":"{kind}"}}"#);
        let parameters: Vec<String> = parameters.iter().map(of).collect();
        write!(
            methods,
            r#"{comma}{{"name":"{name}","offset":{place},"parameters":[{}],"#,
            parameters.join(",")
        )?;
        write!(methods, r#""returntype":"{returns}","safe":{safe}}}"#)?;
    }
    let parts = [
        format!(r#"{{"name":"{name}","groups":[],"features":{{}},"#),
        format!(r#""supportedstandards":["NEP-17"],"abi":{{"methods":[{methods}],"#),
        format!(r#""events":[{EVENTS}]}},"permissions":[{{"contract":"*","methods":"*"}}],"#),
        r#""trusts":[],"extra":null}"#.to_owned(),
    ];
    Ok(parts.concat().into_bytes())
}

fn code(version: u8) -> Script {
    let mut script = Script::default();
    let code = &mut script;
    deploy(code);
    token(code);
    transfer(code);
    storage(code);
    scan(code, "scan", ["scan more", "scan end"], VALUES);
    scan(code, "scanBack", ["back more", "back end"], VALUES_BACKWARDS);
    work(code);
    info(code);
    others(code);
    oracle(code);
    code.label("version").integer(version.into()).code(&[RET]);
    script
}

/// Begins a method.
fn begin<'a>(code: &'a mut Script, name: &'static str, locals: u8, own: u8) -> &'a mut Script {
    code.label(name).code(&[INITSLOT, locals, own])
}

/// Key and value are on the stack, the key last.
fn put(code: &mut Script) -> &mut Script {
    code.system("System.Storage.GetContext").system("System.Storage.Put")
}

fn delete(code: &mut Script) -> &mut Script {
    code.system("System.Storage.GetContext").system("System.Storage.Delete")
}

/// Pushes the key of argument 0: a letter and the argument.
fn prefixed<'a>(code: &'a mut Script, letter: &[u8]) -> &'a mut Script {
    code.bytes(letter).code(&[LDARG0, CAT])
}

fn deploy(code: &mut Script) {
    begin(code, "_deploy", 0, 2).code(&[LDARG1]).jump(JMPIFNOTL, "install");
    put(code.system("System.Runtime.GetTime").bytes(b"V")).code(&[RET]);
    put(code.label("install").integer(SUPPLY).bytes(b"S"));
    put(code.integer(SUPPLY).code(&[LDARG0]).jump(CALLL, "key"));
    code.integer(SUPPLY).code(&[LDARG0, PUSHNULL, PUSH3, PACK]).bytes(b"Transfer");
    code.system("System.Runtime.Notify").code(&[RET]);
}

fn token(code: &mut Script) {
    code.label("symbol").bytes(b"MILL").code(&[RET]);
    code.label("decimals").code(&[PUSH0, RET]);
    code.label("totalSupply").bytes(b"S").system("System.Storage.GetReadOnlyContext");
    code.system("System.Storage.Get").code(&TO_INTEGER).code(&[RET]);
    // the key of the account on the stack
    code.label("key").bytes(b"B").code(&[SWAP, CAT, RET]);
    // its balance
    code.label("balanceOf").jump(CALLL, "key").system("System.Storage.GetReadOnlyContext");
    code.system("System.Storage.Get").code(&[DUP, ISNULL]).jump(JMPIFNOTL, "has");
    code.code(&[DROP, PUSH0]).label("has").code(&TO_INTEGER).code(&[RET]);
}

fn transfer(code: &mut Script) {
    begin(code, "transfer", 1, 4).code(&[LDARG2, PUSH0, LT]).jump(JMPIFL, "negative");
    code.code(&[LDARG0]).system("System.Runtime.CheckWitness").jump(JMPIFNOTL, "no");
    code.code(&[LDARG0]).jump(CALLL, "balanceOf").code(&[STLOC0, LDLOC0, LDARG2, LT]);
    code.jump(JMPIFL, "no").code(&[LDARG0, LDARG1, EQUAL]).jump(JMPIFL, "notify");
    code.code(&[LDLOC0, LDARG2, NUMEQUAL]).jump(JMPIFNOTL, "rest");
    delete(code.code(&[LDARG0]).jump(CALLL, "key")).jump(JMPL, "credit");
    put(code.label("rest").code(&[LDLOC0, LDARG2, SUB, LDARG0]).jump(CALLL, "key"));
    code.label("credit").code(&[LDARG1]).jump(CALLL, "balanceOf").code(&[LDARG2, ADD, LDARG1]);
    put(code.jump(CALLL, "key"));
    code.label("notify").code(&[LDARG2, LDARG1, LDARG0, PUSH3, PACK]).bytes(b"Transfer");
    code.system("System.Runtime.Notify").code(&[LDARG1]);
    code.call_with(1, &native_hash("ContractManagement"), "getContract").code(&[ISNULL]);
    code.jump(JMPIFL, "yes").code(&[LDARG3, LDARG2, LDARG0, PUSH3, PACK]);
    code.integer(15).bytes(b"onNEP17Payment").code(&[LDARG1]).system("System.Contract.Call");
    code.code(&[DROP]).label("yes").code(&[PUSHT, RET]).label("no").code(&[PUSHF, RET]);
    code.label("negative").bytes(b"a negative amount").code(&[THROW]);
    begin(code, "onNEP17Payment", 0, 3).code(&[LDARG1]).bytes(b"R");
    put(code).code(&[RET]);
}

fn storage(code: &mut Script) {
    put(prefixed(begin(code, "put", 0, 2).code(&[LDARG1]), b"P")).code(&[RET]);
    delete(prefixed(begin(code, "del", 0, 1), b"P")).code(&[RET]);
    put(prefixed(begin(code, "fail", 0, 1).code(&[LDARG0]), b"P"));
    code.bytes(b"on purpose").code(&[THROW]);
}

/// Sums the lengths of values with a key prefix.
fn scan(code: &mut Script, name: &'static str, labels: [&'static str; 2], options: i64) {
    let [more, end] = labels;
    prefixed(begin(code, name, 3, 2).integer(options), b"P");
    code.system("System.Storage.GetReadOnlyContext").system("System.Storage.Find");
    code.code(&[STLOC0, PUSH0, STLOC1, PUSH0, STLOC2]).label(more);
    code.code(&[LDLOC1, LDARG1, LT]).jump(JMPIFNOTL, end);
    code.code(&[LDLOC0]).system("System.Iterator.Next").jump(JMPIFNOTL, end);
    code.code(&[LDLOC0]).system("System.Iterator.Value").code(&[SIZE, LDLOC2, ADD, STLOC2]);
    code.code(&[LDLOC1, INC, STLOC1]).jump(JMPL, more).label(end).code(&[LDLOC2, RET]);
}

/// Hashes in a loop, stored in a map; a number of 60 bits; an exception; serialization by StdLib.
fn work(code: &mut Script) {
    let (crypto, std) = (native_hash("CryptoLib"), native_hash("StdLib"));
    begin(code, "work", 4, 2).code(&[LDARG1, STLOC0, PUSH0, STLOC1, PUSH1, STLOC2, NEWMAP, STLOC3]);
    code.label("round").code(&[LDLOC1, LDARG0, LT]).jump(JMPIFNOTL, "rounds done");
    code.code(&[LDLOC0]).call_with(1, &crypto, "sha256").code(&[STLOC0]);
    code.code(&[LDLOC3, LDLOC1, PUSH7, MOD, LDLOC0, SETITEM, LDLOC2]).integer(1_000_003);
    code.code(&[MUL, LDLOC1, ADD]).integer(1_000_000_000_000_000_003).code(&[MOD, STLOC2]);
    code.code(&[LDLOC1, INC, STLOC1]).jump(JMPL, "round").label("rounds done");
    code.catch_at("odd").code(&[LDARG0, PUSH2, MOD]).jump(JMPIFNOTL, "even");
    code.bytes(b"odd").code(&[THROW]).label("even").jump(ENDTRYL, "tried");
    code.label("odd").code(&[DROP]).jump(ENDTRYL, "tried").label("tried");
    code.code(&[LDLOC3]).call_with(1, &std, "serialize").code(&[STLOC0]);
    code.code(&[LDLOC0]).call_with(1, &std, "deserialize").code(&[SIZE, DROP]);
    code.code(&[LDLOC0]).call_with(1, &std, "base64Encode");
    code.code(&[PUSH10, LDLOC2]).call_with(2, &std, "itoa").code(&[CAT]).code(&TO_BYTES);
    code.call_with(1, &std, "jsonSerialize").call_with(1, &crypto, "sha256").code(&[STLOC0]);
    code.code(&[LDLOC0, LDARG0, PUSH2, PACK]).bytes(b"Work").system("System.Runtime.Notify");
    code.code(&[LDLOC0, RET]);
}

/// System calls about the block and the execution.
fn info(code: &mut Script) {
    let ledger = native_hash("LedgerContract");
    code.label("info").code(&[NEWARRAY0]).call_packed(&ledger, "currentIndex");
    code.code(&[NEWARRAY0]).call_packed(&ledger, "currentHash");
    for name in [
        "GetTime",
        "GetTrigger",
        "GetInvocationCounter",
        "GetCallingScriptHash",
        "GetExecutingScriptHash",
        "GetRandom",
        "GasLeft",
        "GetNetwork",
    ] {
        code.system(&format!("System.Runtime.{name}"));
    }
    code.code(&[PUSH10, PACK, RET]);
}

/// Calls of other contracts and of ContractManagement.
fn others(code: &mut Script) {
    let management = native_hash("ContractManagement");
    begin(code, "forward", 0, 3).catch_at("failed").code(&[LDARG2]).integer(15);
    code.code(&[LDARG1, LDARG0]).system("System.Contract.Call").jump(ENDTRYL, "forwarded");
    code.label("failed").code(&[DROP, PUSHM1]).jump(ENDTRYL, "forwarded");
    code.label("forwarded").code(&[RET]);
    begin(code, "update", 0, 2).code(&[PUSHNULL, LDARG1, LDARG0]);
    code.call_with(3, &management, "update").code(&[DROP, RET]);
    code.label("destroy").code(&[NEWARRAY0]).call_packed(&management, "destroy");
    code.code(&[DROP, RET]);
    begin(code, "burn", 0, 1).code(&[LDARG0]).system("System.Runtime.BurnGas").code(&[RET]);
    code.label("verify").code(&[PUSHT, RET]);
}

fn oracle(code: &mut Script) {
    begin(code, "ask", 0, 4).code(&[LDARG3, LDARG2]).bytes(b"answered").code(&[LDARG1, LDARG0]);
    code.call_with(5, &native_hash("OracleContract"), "request").code(&[DROP, RET]);
    begin(code, "answered", 0, 4).code(&[LDARG2]).jump(JMPIFL, "refused");
    put(prefixed(code.code(&[LDARG3]), b"O")).code(&[RET]);
    delete(prefixed(code.label("refused"), b"O")).code(&[RET]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_neo::execute::contract::{Manifest, check_methods, check_script};

    #[test]
    fn the_code_is_code_and_the_methods_begin_in_it() {
        let one = Deployment::new("One", 1).unwrap();
        let nef = Nef::decode(&one.code).unwrap();
        assert!(check_script(&nef.script).is_ok());
        let manifest = Manifest::parse(&one.manifest).unwrap();
        assert!(manifest.check().is_ok());
        let places = manifest.methods.iter().map(|method| method.offset as usize);
        assert!(check_methods(&nef.script, places, true).is_ok());
        assert_ne!(one.hash(&[1; 20]), Deployment::new("One", 2).unwrap().hash(&[1; 20]));
        assert_ne!(one.hash(&[1; 20]), one.hash(&[2; 20]));
    }
}
