//! The published tests of the machine (`neo-vm-tests`): state, stacks, item counts, step by step.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Item, Load, Pause, Rules, Script, Vm,
    opcode::{NAMES, RET},
};
use crate::execute::interop::Interop;

fn rules() -> Rules {
    Rules { fee_factor: 0, gas_limit: None, gorgon: true }
}

/// The machine, and its state as the tests name it.
struct Run {
    vm: Vm,
    state: &'static str,
}

impl Run {
    fn new(code: &[u8]) -> Self {
        let mut vm = Vm::new(rules());
        vm.load(Load {
            script: Arc::new(Script { code: code.into(), hash: [1; 20] }),
            offset: 0,
            results: -1,
            caller: [0; 20],
            flags: 0,
            whitelisted: false,
            dynamic: false,
            tag: None,
            contract: None,
        })
        .expect("loads");
        Self { vm, state: "BREAK" }
    }

    /// Executes one instruction, with the system calls of the tests.
    fn step(&mut self) {
        match self.vm.step_into() {
            None => {}
            Some(Pause::Halt) => self.state = "HALT",
            Some(Pause::Syscall(0x7777_7777 | 0x5555_5555)) => {
                self.vm.push(Item::interop(Interop::Storage { contract: 0, read_only: true }));
            }
            Some(Pause::Syscall(0xADDE_ADDE)) if self.vm.throw(Item::bytes(b"error")).is_ok() => {}
            Some(_) => self.state = "FAULT",
        }
    }

    fn stopped(&self) -> bool {
        matches!(self.state, "HALT" | "FAULT")
    }

    fn until(&mut self, frames: impl Fn(usize) -> bool) {
        loop {
            if self.stopped() {
                return;
            }
            self.step();
            if frames(self.vm.frames()) {
                return;
            }
        }
    }

    fn act(&mut self, action: &str) {
        let frames = self.vm.frames();
        match action.to_lowercase().as_str() {
            "execute" => self.until(|_| false),
            "stepinto" => self.until(|_| true),
            "stepout" => self.until(|now| now < frames),
            "stepover" => self.until(|now| now <= frames),
            other => panic!("unknown action {other}"),
        }
    }
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    (digits.len().is_multiple_of(2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .then(|| blockmill_testkit::hex::decode(digits))
}

fn script(parts: &Value) -> Vec<u8> {
    let mut code = Vec::new();
    for part in parts.as_array().expect("a list") {
        let part = part.as_str().expect("text");
        match NAMES.iter().position(|name| *name == part) {
            Some(op) if !part.is_empty() => code.push(op as u8),
            _ => code.extend(bytes_of(part).unwrap_or_else(|| panic!("script part {part}"))),
        }
    }
    code
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | u32::from(digit(byte));
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn same(vm: &Vm, expected: &Value, found: &Item) -> bool {
    let value = &expected["value"];
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let bytes = || bytes_of(&text).unwrap_or_else(|| base64(&text));
    match (expected["type"].as_str().expect("a type").to_lowercase().as_str(), found) {
        ("null", Item::Null) | ("interop", Item::Interop(_)) => true,
        ("boolean", Item::Bool(found)) => Some(*found) == value.as_bool(),
        ("integer", Item::Int(_) | Item::Big(_) | Item::Bool(_)) => {
            found.to_integer().is_ok_and(|found| found.to_string() == text)
        }
        ("bytestring", Item::Short(..) | Item::Bytes(_)) | ("buffer", Item::Buffer(_)) => {
            found.to_bytes() == Ok(bytes())
        }
        ("pointer", Item::Pointer(pointer)) => value.as_u64() == Some(pointer.position.into()),
        ("array", Item::Array(place)) | ("struct", Item::Struct(place)) => {
            let (wanted, found) = (value.as_array().expect("a list"), vm.heap.list(*place));
            wanted.len() == found.len()
                && wanted.iter().zip(found).all(|(wanted, found)| same(vm, wanted, found))
        }
        ("map", Item::Map(place)) => {
            let (wanted, found) = (value.as_object().expect("a map"), vm.heap.map(*place));
            let found = found.expect("a map");
            wanted.len() == found.len()
                && found.iter().all(|(key, found)| {
                    let key = key.0.to_bytes().expect("a key");
                    let names = wanted.iter().find(|(name, _)| bytes_of(name) == Some(key.clone()));
                    names.is_some_and(|(_, wanted)| same(vm, wanted, found))
                })
        }
        _ => false,
    }
}

/// Compares a list of items, the first of the list with the top of the stack.
fn check_items<'a>(vm: &Vm, wanted: &Value, found: impl Iterator<Item = &'a Item>, what: &str) {
    let Some(wanted) = wanted.as_array() else { return };
    let found: Vec<&Item> = found.collect();
    assert_eq!(wanted.len(), found.len(), "{what}: {wanted:?} and {found:?}");
    for (wanted, found) in wanted.iter().zip(found) {
        assert!(same(vm, wanted, found), "{what}: {wanted} and {found:?}");
    }
}

fn check(run: &Run, code: &[u8], result: &Value, what: &str) {
    assert_eq!(result["state"].as_str().expect("a state"), run.state, "{what}");
    if run.state == "FAULT" {
        return;
    }
    let vm = &run.vm;
    if let Some(count) = result["refs"].as_u64() {
        assert_eq!(count as usize, vm.heap.count(), "{what}: count");
    }
    if let Some(top) = result["invocationStack"].as_array().and_then(|all| all.first()) {
        let next = vm.frame().expect("a frame").next;
        if next < code.len() {
            assert_eq!(top["instructionPointer"].as_u64(), Some(next as u64), "{what}");
            assert_eq!(top["nextInstruction"].as_str(), Some(NAMES[usize::from(code[next])]));
        } else {
            assert_eq!(top["nextInstruction"].as_str(), Some(NAMES[usize::from(RET)]), "{what}");
        }
        check_items(vm, &top["evaluationStack"], vm.stack().iter().rev(), what);
        let statics = vm.statics().unwrap_or_default();
        check_items(vm, &top["staticFields"], statics.iter(), what);
    }
    check_items(vm, &result["resultStack"], vm.stack().iter().rev(), what);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn passes_the_published_tests() {
    let files =
        blockmill_testkit::tar_files("neo/neo-vm-tests.tar.zst", |name| name.ends_with(".json"));
    let (mut tests, mut steps) = (0, 0);
    for (name, bytes) in files {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let file: Value = serde_json::from_slice(bytes).expect("JSON");
        for test in file["tests"].as_array().expect("tests") {
            let code = script(&test["script"]);
            let mut run = Run::new(&code);
            tests += 1;
            for (index, step) in test["steps"].as_array().expect("steps").iter().enumerate() {
                steps += 1;
                for action in step["actions"].as_array().into_iter().flatten() {
                    run.act(action.as_str().expect("an action"));
                }
                let what = format!("{name}: {}, step {index}", test["name"]);
                check(&run, &code, &step["result"], &what);
            }
        }
    }
    assert_eq!((tests, steps), (782, 1_521));
}
