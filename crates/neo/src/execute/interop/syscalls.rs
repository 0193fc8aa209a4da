//! The system calls: names, prices, required flags and implementations.

use std::sync::LazyLock;

use blockmill_hashes::sha256;

use super::{calls, iterator, runtime, storage};
use crate::execute::{
    engine::{Engine, flags},
    native,
    vm::Fault,
};
use crate::params::Hardfork;

/// The coefficient of a check of a signature.
pub const SIGNATURE_PRICE: u64 = 1 << 15;

type SyscallFn = fn(&mut Engine<'_>) -> Result<(), Fault>;

/// A system call.
struct Syscall {
    name: &'static str,
    price: u64,
    flags: u8,
    from: Option<Hardfork>,
    run: SyscallFn,
}

const fn syscall(name: &'static str, price: u64, flags: u8, run: SyscallFn) -> Syscall {
    Syscall { name, price, flags, from: None, run }
}

const fn since_faun(name: &'static str, price: u64, flags: u8, run: SyscallFn) -> Syscall {
    Syscall { name, price, flags, from: Some(Hardfork::Faun), run }
}

use flags::{CALL, NONE, NOTIFY, READ, READ_ONLY, STATES, WRITE};

const BIG: u64 = 1 << 15;

static SYSCALLS: [Syscall; 41] = [
    syscall("System.Contract.Call", BIG, READ_ONLY, calls::call),
    syscall("System.Contract.CallNative", 0, NONE, native::call),
    syscall("System.Contract.CreateMultisigAccount", 0, NONE, calls::create_multisig_account),
    syscall("System.Contract.CreateStandardAccount", 0, NONE, calls::create_standard_account),
    syscall("System.Contract.GetCallFlags", 1 << 10, NONE, calls::get_call_flags),
    syscall("System.Contract.NativeOnPersist", 0, STATES, native::on_persist),
    syscall("System.Contract.NativePostPersist", 0, STATES, native::post_persist),
    syscall("System.Crypto.CheckMultisig", 0, NONE, calls::check_multisig),
    syscall("System.Crypto.CheckSig", SIGNATURE_PRICE, NONE, calls::check_signature),
    syscall("System.Iterator.Next", BIG, NONE, iterator::next),
    syscall("System.Iterator.Value", 1 << 4, NONE, iterator::value),
    syscall("System.Runtime.BurnGas", 1 << 4, NONE, runtime::burn_gas),
    syscall("System.Runtime.CheckWitness", 1 << 10, NONE, runtime::check_witness),
    syscall("System.Runtime.CurrentSigners", 1 << 4, NONE, runtime::current_signers),
    syscall("System.Runtime.GasLeft", 1 << 4, NONE, runtime::gas_left),
    syscall("System.Runtime.GetAddressVersion", 1 << 3, NONE, runtime::address_version),
    syscall("System.Runtime.GetCallingScriptHash", 1 << 4, NONE, runtime::calling_hash),
    syscall("System.Runtime.GetEntryScriptHash", 1 << 4, NONE, runtime::entry_hash),
    syscall("System.Runtime.GetExecutingScriptHash", 1 << 4, NONE, runtime::executing_hash),
    syscall("System.Runtime.GetInvocationCounter", 1 << 4, NONE, runtime::invocation_counter),
    syscall("System.Runtime.GetNetwork", 1 << 3, NONE, runtime::network),
    syscall("System.Runtime.GetNotifications", 1 << 12, NONE, runtime::notifications),
    syscall("System.Runtime.GetRandom", 0, NONE, runtime::random),
    syscall("System.Runtime.GetScriptContainer", 1 << 3, NONE, runtime::script_container),
    syscall("System.Runtime.GetTime", 1 << 3, READ, runtime::time),
    syscall("System.Runtime.GetTrigger", 1 << 3, NONE, runtime::trigger),
    syscall("System.Runtime.LoadScript", BIG, CALL, calls::load_script),
    syscall("System.Runtime.Log", BIG, NOTIFY, runtime::log),
    syscall("System.Runtime.Notify", BIG, NOTIFY, runtime::notify),
    syscall("System.Runtime.Platform", 1 << 3, NONE, runtime::platform),
    syscall("System.Storage.Delete", BIG, WRITE, storage::delete),
    syscall("System.Storage.Find", BIG, READ, storage::find),
    syscall("System.Storage.Get", BIG, READ, storage::get),
    syscall("System.Storage.GetContext", 1 << 4, READ, storage::get_context),
    syscall("System.Storage.GetReadOnlyContext", 1 << 4, READ, storage::get_read_only_context),
    syscall("System.Storage.Put", BIG, WRITE, storage::put),
    syscall("System.Storage.AsReadOnly", 1 << 4, READ, storage::as_read_only),
    since_faun("System.Storage.Local.Get", BIG, READ, storage::local_get),
    since_faun("System.Storage.Local.Find", BIG, READ, storage::local_find),
    since_faun("System.Storage.Local.Put", BIG, WRITE, storage::local_put),
    since_faun("System.Storage.Local.Delete", BIG, WRITE, storage::local_delete),
];

/// Sorted numbers, each with the index of its system call.
static NUMBERS: LazyLock<Vec<(u32, usize)>> = LazyLock::new(|| {
    let all = SYSCALLS.iter().enumerate();
    let mut numbers: Vec<_> = all.map(|(index, each)| (number(each.name), index)).collect();
    numbers.sort_unstable();
    numbers
});

/// The number of a system call: the first four bytes of the hash of its name.
#[must_use]
pub fn number(name: &str) -> u32 {
    let [a, b, c, d, ..] = sha256(name.as_bytes());
    u32::from_le_bytes([a, b, c, d])
}

/// Runs a system call.
///
/// # Errors
///
/// Returns a fault with the name of the call if it fails, or if the number is unknown.
pub fn call(engine: &mut Engine<'_>, number: u32) -> Result<(), Fault> {
    let index = NUMBERS.binary_search_by_key(&number, |(number, _)| *number);
    let syscall = index.ok().map(|index| &SYSCALLS[NUMBERS[index].1]);
    let Some(syscall) = syscall else {
        return Err(Fault::Message(format!("{number} failed: syscall not found")));
    };
    let result = run(engine, syscall);
    result.map_err(|fault| match fault {
        Fault::Panicked(text) => Fault::Message(text),
        // operand faults have no prefix in the reference client
        operand @ (Fault::EmptyStack
        | Fault::Conversion { .. }
        | Fault::IntegerTooBig
        | Fault::NotUtf8) => operand,
        other => Fault::Message(format!("{} failed: {other}", syscall.name)),
    })
}

fn run(engine: &mut Engine<'_>, syscall: &Syscall) -> Result<(), Fault> {
    if syscall.from.is_some_and(|hardfork| !engine.is_active(hardfork)) {
        return Err(Fault::Rule("syscall not found"));
    }
    let allowed = engine.vm.flags();
    if allowed & syscall.flags != syscall.flags {
        return Err(Fault::Message(format!(
            "missing call flags: {allowed:05b} vs {:05b}",
            syscall.flags
        )));
    }
    engine.charge(syscall.price)?;
    (syscall.run)(engine)
}
