//! Oracle requests and responses.

use super::{ANSWER, Mixture, simple};
use crate::neo::draft::{Draft, GAS, Who};
use crate::neo::participants::ORACLES;
use crate::neo::script::Value;
use blockmill_neo::execute::vm::opcode::{NEWARRAY0, PUSH0, PUSHDATA1, SYSCALL};
use blockmill_neo::types::{Scopes, UInt160, write};

impl Mixture {
    pub(super) fn ask(&mut self, from: usize) -> Draft {
        let url = format!("https://example.org/{}", self.random.below(40));
        let data = self.bytes(0, 30);
        let filter = if self.random.below(2) == 0 { Value::Null } else { Value::Bytes(b"$.a") };
        let gas = if self.random.below(10) == 0 { 1 } else { ANSWER };
        let values =
            [Value::Bytes(url.as_bytes()), filter, Value::Bytes(&data), Value::Integer(gas)];
        simple(from, &self.token, "ask", &values, 3 * GAS)
    }

    /// The oracle response, paid from the gas of the request.
    pub(super) fn answer(&mut self, id: u64) -> Draft {
        // the script of responses (`CreateOracleResponseScript`)
        let mut script = vec![NEWARRAY0, PUSH0 + 15, PUSHDATA1, 6];
        script.extend_from_slice(b"finish");
        script.extend([PUSHDATA1, 20]);
        script.extend_from_slice(&self.natives.oracle);
        script.push(SYSCALL);
        let number = blockmill_neo::execute::interop::syscalls::number("System.Contract.Call");
        script.extend_from_slice(&number.to_le_bytes());
        let mut attribute = vec![0x11];
        attribute.extend_from_slice(&id.to_le_bytes());
        // sometimes not found
        let is_found = self.random.below(5) > 0;
        attribute.push(if is_found { 0 } else { 0x14 });
        let result = if is_found { self.bytes(0, 100) } else { vec![] };
        write::string(&mut attribute, &result);
        let signers = vec![
            (Who::Contract(UInt160(self.natives.oracle)), Scopes::NONE),
            (Who::Account(ORACLES), Scopes::NONE),
        ];
        let (system_fee, network_fee) = (ANSWER / 2, Some(ANSWER / 2));
        Draft { script, system_fee, signers, attributes: vec![attribute], network_fee }
    }
}
