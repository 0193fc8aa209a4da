//! Executions as neo-go's application logs show them.

use blockmill_neo::execute::engine::Execution;
use blockmill_neo::execute::vm::{Heap, json, serialize};
use serde_json::{Value, json};

/// An execution as neo-go's application log shows it.
pub fn execution(execution: &Execution) -> Value {
    let item = |bytes: &[u8]| -> Value {
        let mut heap = Heap::default();
        let item = serialize::deserialize(&mut heap, bytes).unwrap();
        serde_json::from_str(&json::with_types(&heap, &item).unwrap()).unwrap()
    };
    let notifications: Vec<Value> = execution
        .notifications
        .iter()
        .map(|event| {
            json!({
                "contract": event.contract.to_string(),
                "eventname": event.name,
                "state": item(&event.state),
            })
        })
        .collect();
    json!({
        "container": execution.container.to_string(),
        "trigger": execution.trigger.name(),
        "vmstate": if execution.fault.is_none() { "HALT" } else { "FAULT" },
        "gasconsumed": execution.gas.to_string(),
        "stack": execution.stack.iter().map(|bytes| shown_item(bytes, &item)).collect::<Vec<_>>(),
        "notifications": notifications,
        "exception": execution.fault,
        "invocations": null,
    })
}

/// Interop objects have no value; other items are as in notifications.
fn shown_item(bytes: &[u8], item: &dyn Fn(&[u8]) -> Value) -> Value {
    match bytes {
        [0x60] => json!({ "type": "InteropInterface" }),
        bytes => item(bytes),
    }
}
