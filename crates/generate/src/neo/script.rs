//! Builds scripts of the virtual machine, for transactions and the generated contract.

use blockmill_neo::execute::engine::flags;
use blockmill_neo::execute::interop::syscalls::number;
use blockmill_neo::execute::vm::opcode;
use std::collections::HashMap;

/// A script builder.
#[derive(Clone, Debug, Default)]
pub struct Script {
    bytes: Vec<u8>,
    labels: HashMap<&'static str, usize>,
    jumps: Vec<Jump>,
}

/// A jump with an unresolved label.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Offset of the instruction, which the distance is relative to.
    from: usize,
    label: &'static str,
}

/// An argument of a contract call.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    Bytes(&'a [u8]),
    Array(Vec<Value<'a>>),
}

impl Script {
    /// Appends raw instructions.
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

    /// Appends a system call.
    pub fn system(&mut self, name: &str) -> &mut Self {
        self.code(&[opcode::SYSCALL]).code(&number(name).to_le_bytes())
    }

    /// Calls a method with the array of arguments on the stack.
    pub fn call_packed(&mut self, contract: &[u8; 20], method: &str) -> &mut Self {
        self.integer(flags::ALL.into()).bytes(method.as_bytes()).bytes(contract);
        self.system("System.Contract.Call")
    }

    /// Calls a method with the arguments on the stack, the first one on top.
    pub fn call_with(&mut self, count: i64, contract: &[u8; 20], method: &str) -> &mut Self {
        self.integer(count).code(&[opcode::PACK]).call_packed(contract, method)
    }

    /// Calls a method (`emit.AppCall`).
    pub fn call(&mut self, contract: &[u8; 20], method: &str, values: &[Value<'_>]) -> &mut Self {
        self.array(values).call_packed(contract, method)
    }

    /// Defines a label here.
    pub fn label(&mut self, label: &'static str) -> &mut Self {
        self.labels.insert(label, self.bytes.len());
        self
    }

    /// Appends a jump, call or end of a try in its long form, with a label as operand.
    pub fn jump(&mut self, instruction: u8, label: &'static str) -> &mut Self {
        self.jumps.push(Jump { from: self.bytes.len(), label });
        self.code(&[instruction]).code(&[0; 4])
    }

    /// Appends a try with its handler at a label.
    pub fn catch_at(&mut self, label: &'static str) -> &mut Self {
        // no finally block
        self.jump(opcode::TRYL, label).code(&[0; 4])
    }

    /// The offset of a label, if it is defined.
    pub fn place(&self, label: &str) -> Option<usize> {
        self.labels.get(label).copied()
    }

    /// Returns the script. Jumps to undefined labels lead to the first instruction.
    pub fn done(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for Jump { from, label } in &self.jumps {
            let distance = self.place(label).unwrap_or_default() as i64 - *from as i64;
            bytes[from + 1..from + 5].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        bytes
    }
}

/// A script that calls a method and, if `asserts`, fails unless it returns true.
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
