//! Scripts of the virtual machine: those of transactions, and the code of the contract that
//! generated transactions call.

use blockmill_neo::execute::engine::flags;
use blockmill_neo::execute::interop::syscalls::number;
use blockmill_neo::execute::vm::opcode;
use std::collections::HashMap;

/// A script that grows at its end.
#[derive(Clone, Debug, Default)]
pub struct Script {
    bytes: Vec<u8>,
    labels: HashMap<&'static str, usize>,
    jumps: Vec<Jump>,
}

/// A jump whose distance is filled in at the end.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Where the instruction stands; distances count from it.
    from: usize,
    label: &'static str,
}

/// What a call of a contract takes.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    Bytes(&'a [u8]),
    Array(Vec<Value<'a>>),
}

impl Script {
    /// Instructions without operands, or with those that are given.
    pub fn code(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Pushes a number in the shortest form (`emit.Int`).
    pub fn integer(&mut self, value: i64) -> &mut Self {
        let bytes = value.to_le_bytes();
        match value {
            -1..=16 => self.code(&[(i64::from(opcode::PUSH0) + value) as u8]),
            -0x80..0x80 => self.code(&[opcode::PUSHINT8]).code(&bytes[..1]),
            -0x8000..0x8000 => self.code(&[opcode::PUSHINT16]).code(&bytes[..2]),
            -0x8000_0000..0x8000_0000 => self.code(&[opcode::PUSHINT32]).code(&bytes[..4]),
            _ => self.code(&[opcode::PUSHINT64]).code(&bytes),
        }
    }

    /// Pushes bytes (`emit.Bytes`).
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let length = (bytes.len() as u32).to_le_bytes();
        match bytes.len() {
            0..0x100 => self.code(&[opcode::PUSHDATA1]).code(&length[..1]),
            0x100..0x1_0000 => self.code(&[opcode::PUSHDATA2]).code(&length[..2]),
            _ => self.code(&[opcode::PUSHDATA4]).code(&length),
        };
        self.code(bytes)
    }

    /// Pushes a value (`emit.Any`).
    pub fn value(&mut self, value: &Value<'_>) -> &mut Self {
        match value {
            Value::Null => self.code(&[opcode::PUSHNULL]),
            Value::Integer(value) => self.integer(*value),
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::Array(values) => self.array(values),
        }
    }

    fn array(&mut self, values: &[Value<'_>]) -> &mut Self {
        if values.is_empty() {
            return self.code(&[opcode::NEWARRAY0]);
        }
        for value in values.iter().rev() {
            self.value(value);
        }
        self.integer(values.len() as i64).code(&[opcode::PACK])
    }

    /// A call of the system.
    pub fn system(&mut self, name: &str) -> &mut Self {
        self.code(&[opcode::SYSCALL]).code(&number(name).to_le_bytes())
    }

    /// Calls a method with the array of arguments that was pushed.
    pub fn call_packed(&mut self, contract: &[u8; 20], method: &str) -> &mut Self {
        self.integer(flags::ALL.into()).bytes(method.as_bytes()).bytes(contract);
        self.system("System.Contract.Call")
    }

    /// Calls a method with the arguments that were pushed, the first one last.
    pub fn call_with(&mut self, count: i64, contract: &[u8; 20], method: &str) -> &mut Self {
        self.integer(count).code(&[opcode::PACK]).call_packed(contract, method)
    }

    /// Calls a method (`emit.AppCall`).
    pub fn call(&mut self, contract: &[u8; 20], method: &str, values: &[Value<'_>]) -> &mut Self {
        self.array(values).call_packed(contract, method)
    }

    /// Names this place.
    pub fn label(&mut self, label: &'static str) -> &mut Self {
        self.labels.insert(label, self.bytes.len());
        self
    }

    /// A jump, a call or an end of a try in its long form, with a label for operand.
    pub fn jump(&mut self, instruction: u8, label: &'static str) -> &mut Self {
        self.jumps.push(Jump { from: self.bytes.len(), label });
        self.code(&[instruction]).code(&[0; 4])
    }

    /// A try that is caught at a label.
    pub fn catch_at(&mut self, label: &'static str) -> &mut Self {
        // without a part that always runs
        self.jump(opcode::TRYL, label).code(&[0; 4])
    }

    /// Where a label is; nowhere if there is none.
    pub fn place(&self, label: &str) -> Option<usize> {
        self.labels.get(label).copied()
    }

    /// The bytes. Jumps to labels that there are not lead to the first instruction.
    pub fn done(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for Jump { from, label } in &self.jumps {
            let distance = self.place(label).unwrap_or_default() as i64 - *from as i64;
            bytes[from + 1..from + 5].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        bytes
    }
}

/// A script that calls one method, and fails unless it answers yes where that is asked for.
pub fn call(contract: &[u8; 20], method: &str, values: &[Value<'_>], must_hold: bool) -> Vec<u8> {
    let mut script = Script::default();
    script.call(contract, method, values);
    if must_hold {
        script.code(&[opcode::ASSERT]);
    }
    script.done()
}

/// Arguments of `transfer`.
pub fn payment<'a>(
    from: &'a [u8; 20],
    to: &'a [u8; 20],
    amount: i64,
    data: Value<'a>,
) -> [Value<'a>; 4] {
    [Value::Bytes(from), Value::Bytes(to), Value::Integer(amount), data]
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_neo::execute::contract::check_script;

    #[test]
    fn numbers_are_pushed_in_their_shortest_form() {
        let pushed = |value| Script::default().integer(value).done();
        assert_eq!(pushed(-1), [opcode::PUSHM1]);
        assert_eq!(pushed(16), [opcode::PUSH16]);
        assert_eq!(pushed(17), [opcode::PUSHINT8, 17]);
        assert_eq!(pushed(-128), [opcode::PUSHINT8, 128]);
        assert_eq!(pushed(128), [opcode::PUSHINT16, 128, 0]);
        assert_eq!(pushed(-32_769), [opcode::PUSHINT32, 0xff, 0x7f, 0xff, 0xff]);
        assert_eq!(pushed(1 << 31).len(), 9);
    }

    #[test]
    fn jumps_lead_to_their_labels() {
        let mut script = Script::default();
        script.label("begin").code(&[opcode::NOP]).jump(opcode::JMPL, "end");
        script.jump(opcode::JMPL, "begin").label("end").code(&[opcode::RET]);
        let bytes = script.done();
        assert_eq!(bytes[2..6], 10_i32.to_le_bytes());
        assert_eq!(bytes[7..11], (-6_i32).to_le_bytes());
        assert!(check_script(&bytes).is_ok());
    }
}
