//! Calls between contracts.

use std::sync::Arc;

use super::{Call, Continuation, Contract, Engine, Method, ParamType, flags, interop, native};
use crate::execute::vm::{Fault, Item, Load, PICO};
use crate::params::Hardfork;

/// How a contract is called.
pub struct CallOptions {
    /// Its call flags; the caller's flags limit them.
    pub flags: u8,
    /// Whether the caller expects a result.
    pub returns: bool,
    /// Exactly one item is left for the caller.
    pub dynamic: bool,
    /// The continuation, if the caller is a native contract.
    pub continuation: Option<Continuation>,
}

impl Engine<'_> {
    /// Calls a method of a contract for a script (`System.Contract.Call`, `CALLT`).
    ///
    /// # Errors
    ///
    /// Returns a fault if the caller's manifest does not allow the call, and the faults of
    /// [`Engine::call_contract`].
    pub fn call_checked(
        &mut self,
        contract: &Arc<Contract>,
        method: &Method,
        arguments: Vec<Item>,
        mut options: CallOptions,
    ) -> Result<(), Fault> {
        if method.safe {
            options.flags &= !(flags::WRITE | flags::NOTIFY);
        } else if self.vm.contract().is_some() {
            let current = self.current_contract_for_call();
            let allowed = current.is_none_or(|current| {
                current.manifest.can_call(&contract.hash, &contract.manifest, &method.name)
            });
            if !allowed {
                return Err(Fault::Rule("disallowed method call"));
            }
        }
        let caller = self.vm.current_hash();
        self.call_contract(caller, contract, &method.name, arguments, options)
    }

    /// The calling contract with the manifest in effect: the loaded one since Domovoi, the stored
    /// one before.
    fn current_contract_for_call(&mut self) -> Option<Arc<Contract>> {
        if self.is_active(Hardfork::Domovoi) {
            return self.running_contract();
        }
        let hash = self.vm.current_hash();
        self.contract(&hash)
    }

    /// The running contract, as it was loaded.
    #[must_use]
    pub fn running_contract(&self) -> Option<Arc<Contract>> {
        let number = self.vm.contract()? as usize;
        self.loaded.get(number).map(Arc::clone)
    }

    /// Calls a method of a contract.
    ///
    /// # Errors
    ///
    /// Returns a fault if the contract is blocked, it has no such method, the return type does not
    /// match, or there are too many frames.
    pub fn call_contract(
        &mut self,
        caller: [u8; 20],
        contract: &Arc<Contract>,
        name: &str,
        arguments: Vec<Item>,
        options: CallOptions,
    ) -> Result<(), Fault> {
        let method = contract.manifest.method(name, Some(arguments.len()));
        let method = method.ok_or(Fault::Rule("method not found"))?;
        if native::policy::is_blocked(self.state, &contract.hash) {
            return Err(Fault::Rule("contract is blocked"));
        }
        let mut whitelisted = false;
        if self.is_active(Hardfork::Faun)
            && let Some(fee) = native::policy::fixed_fee(self.state, contract, method)
        {
            // the reference client truncates the product to 64 bits; a negative result is no fixed
            // fee
            let fee = fee.cast_signed().wrapping_mul(PICO as i64);
            if let Ok(fee) = u128::try_from(fee) {
                self.vm.add_gas(fee)?;
                whitelisted = true;
            }
        }
        if options.returns != (method.returns != ParamType::Void) {
            return Err(Fault::Rule("return type mismatch"));
        }
        *self.invocations.entry(contract.hash).or_insert(0) += 1;
        let flags = self.vm.flags() & options.flags;
        let changes = flags & (flags::WRITE | flags::NOTIFY) != 0;
        let wrapped = (self.vm.contract_has_try() && changes).then_some(self.events.len());
        if wrapped.is_some() {
            self.state.begin();
            self.layers += 1;
        }
        let from_native = options.continuation.is_some();
        let call = Call { wrapped, continuation: options.continuation, from_native };
        let listens = wrapped.is_some() || from_native;
        let tag = listens.then(|| {
            self.calls.push(Some(call));
            (self.calls.len() - 1) as u32
        });
        self.load_contract(
            caller,
            contract,
            method,
            LoadOptions {
                flags,
                results: i32::from(options.returns),
                whitelisted,
                dynamic: options.dynamic,
                tag,
            },
        )?;
        for argument in arguments.into_iter().rev() {
            self.vm.push(argument);
        }
        Ok(())
    }

    /// Loads a method of a contract and, to run before it, `_initialize`.
    pub(crate) fn load_contract(
        &mut self,
        caller: [u8; 20],
        contract: &Arc<Contract>,
        method: &Method,
        options: LoadOptions,
    ) -> Result<(), Fault> {
        let offset = usize::try_from(method.offset).map_err(|_| Fault::Jump)?;
        let number = self.number_of(contract);
        self.vm.load(Load {
            script: Arc::clone(&contract.script),
            offset,
            results: options.results,
            caller,
            flags: options.flags,
            whitelisted: options.whitelisted,
            dynamic: options.dynamic,
            tag: options.tag,
            contract: Some(number),
        })?;
        if let Some(method) = contract.manifest.method("_initialize", Some(0)) {
            self.vm.call(usize::try_from(method.offset).map_err(|_| Fault::Jump)?)?;
        }
        Ok(())
    }

    /// The index of a contract among those loaded in this execution.
    fn number_of(&mut self, contract: &Arc<Contract>) -> u32 {
        let known = self.loaded.iter().position(|each| Arc::ptr_eq(each, contract));
        let number = known.unwrap_or_else(|| {
            self.loaded.push(Arc::clone(contract));
            self.loaded.len() - 1
        });
        number as u32
    }

    /// A call by token.
    pub(super) fn call_token(&mut self, number: u16) -> Result<(), Fault> {
        if self.vm.flags() & flags::READ_ONLY != flags::READ_ONLY {
            return Err(Fault::Rule("invalid call flags"));
        }
        let running = self.running_contract().ok_or(Fault::Rule(
            "runtime error: invalid memory address or nil pointer dereference",
        ))?;
        let token = running.nef.tokens.get(usize::from(number));
        let token = token.ok_or(Fault::Range("token id"))?;
        if usize::from(token.parameters) > self.vm.depth() {
            return Err(Fault::EmptyStack);
        }
        let arguments: Vec<Item> =
            (0..token.parameters).map(|_| self.vm.pop()).collect::<Result<_, _>>()?;
        let contract = self.contract(&token.hash).ok_or(Fault::Rule("token contract not found"))?;
        let name = std::str::from_utf8(&token.method).unwrap_or_default();
        let method = contract.manifest.method(name, Some(arguments.len()));
        let method = method.ok_or(Fault::Rule("token method not found"))?;
        if token.returns != (method.returns != ParamType::Void) {
            return Err(Fault::Rule("token return value doesn't match the method's"));
        }
        let options = CallOptions {
            flags: token.flags,
            returns: token.returns,
            dynamic: false,
            continuation: None,
        };
        self.call_checked(&contract, method, arguments, options)
    }

    /// Calls a contract from a native one. `then` runs after it has returned.
    ///
    /// # Errors
    ///
    /// Returns the faults of [`Engine::call_contract`].
    pub fn call_from_native(
        &mut self,
        caller: [u8; 20],
        contract: &Arc<Contract>,
        name: &str,
        arguments: Vec<Item>,
        returns: bool,
        then: Continuation,
    ) -> Result<(), Fault> {
        let options =
            CallOptions { flags: flags::ALL, returns, dynamic: false, continuation: Some(then) };
        self.call_contract(caller, contract, name, arguments, options)
    }

    /// Handles unloaded scripts: commits or rolls back their layers and runs continuations.
    pub(super) fn unloaded(&mut self) -> Result<(), Fault> {
        for unloaded in self.vm.take_unloaded() {
            let call = self.calls.get_mut(unloaded.tag as usize).and_then(Option::take);
            let Some(call) = call else { continue };
            if let Some(events) = call.wrapped {
                self.layers -= 1;
                if unloaded.commit {
                    self.state.commit();
                } else {
                    self.state.rollback();
                    self.events.truncate(events);
                }
            }
            if call.from_native && !unloaded.commit {
                return Err(Fault::Rule("unhandled exception"));
            }
            if let Some(then) = call.continuation {
                then(self)?;
            }
        }
        Ok(())
    }

    /// Reports whether the witness of an account is valid here.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are no signers, or a scope needs a call flag that the script lacks.
    pub fn check_witness(&mut self, account: &[u8; 20]) -> Result<bool, Fault> {
        interop::witness::check(self, account)
    }
}

/// How a contract's script is loaded.
pub(crate) struct LoadOptions {
    pub flags: u8,
    pub results: i32,
    pub whitelisted: bool,
    pub dynamic: bool,
    pub tag: Option<u32>,
}
