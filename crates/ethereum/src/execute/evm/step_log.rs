//! A line of JSON for each instruction (EIP-3155), in the form of go-ethereum's `evm --json`.
//!
//! The inspector of `revm` for this needs a feature that changes the order of fields in every
//! document of the program, and has the refund of one frame for that of all.

use revm::Inspector;
use revm::bytecode::opcode::OpCode;
use revm::context_interface::ContextTr;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{Jumps, LoopControl, MemoryTr};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, Interpreter,
    InterpreterAction, InterpreterResult,
};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, Write};

/// Writes the instructions of transactions.
#[derive(Default)]
pub struct StepLog {
    /// `None` if nothing is written.
    out: Option<Box<dyn Write>>,
    /// The first error of the writer; nothing is written after it.
    error: Option<io::Error>,
    /// Refunds of the frames that are open, the innermost one last.
    refunds: Vec<i64>,
    step: Step,
}

/// The machine before an instruction.
#[derive(Default)]
struct Step {
    pc: usize,
    op: u8,
    gas: u64,
    memory: usize,
    stack: String,
}

impl Debug for StepLog {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepLog").field("is_on", &self.is_on()).finish_non_exhaustive()
    }
}

impl StepLog {
    /// A log that is written to `out`.
    pub fn new(out: impl Write + 'static) -> Self {
        Self { out: Some(Box::new(out)), ..Self::default() }
    }

    /// Whether instructions are written.
    pub fn is_on(&self) -> bool {
        self.out.is_some()
    }

    /// Ends the log.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        self.error.map_or(Ok(()), Err)
    }

    fn write(&mut self, line: fmt::Arguments<'_>) {
        if let (Some(out), None) = (&mut self.out, &self.error)
            && let Err(error) = writeln!(out, "{line}")
        {
            self.error = Some(error);
        }
    }

    /// Ends a frame; the outermost one has a line of its own.
    fn end_frame(&mut self, result: &InterpreterResult) {
        self.refunds.pop();
        if !self.refunds.is_empty() {
            return;
        }
        let output = result.output.to_string();
        let (output, gas) = (output.trim_start_matches("0x"), result.gas.total_gas_spent());
        let error = match result.is_ok() {
            true => String::new(),
            false => format!(",\"error\":\"{:?}\"", result.result),
        };
        self.write(format_args!("{{\"output\":\"{output}\",\"gasUsed\":\"{gas:#x}\"{error}}}"));
    }
}

impl<C: ContextTr> Inspector<C, EthInterpreter> for StepLog {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut C) {
        let stack = &mut self.step.stack;
        stack.clear();
        for value in interpreter.stack.data() {
            let comma = if stack.is_empty() { "" } else { "," };
            // a text takes what is written
            let _ = fmt::Write::write_fmt(stack, format_args!("{comma}\"{value:#x}\""));
        }
        self.step.pc = interpreter.bytecode.pc();
        self.step.op = interpreter.bytecode.opcode();
        self.step.gas = interpreter.gas.remaining();
        self.step.memory = interpreter.memory.size();
    }

    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut C) {
        let Step { pc, op, gas, memory, stack } = std::mem::take(&mut self.step);
        // what a creation hands on is no cost of the instruction, other than that of a call
        let handed_on = match interpreter.bytecode.action() {
            Some(InterpreterAction::NewFrame(FrameInput::Create(inputs))) => inputs.gas_limit(),
            _ => 0,
        };
        let cost = gas.saturating_sub(interpreter.gas.remaining()).saturating_sub(handed_on);
        if let Some(refund) = self.refunds.last_mut() {
            *refund = interpreter.gas.refunded();
        }
        let (depth, refund) = (self.refunds.len(), self.refunds.iter().sum::<i64>());
        let name = OpCode::new(op).map_or("INVALID", OpCode::as_str);
        let failed = interpreter.bytecode.action().as_ref().and_then(|action| {
            let result = action.instruction_result()?;
            result.is_halt().then(|| format!(",\"error\":\"{result:?}\""))
        });
        let error = failed.unwrap_or_default();
        self.write(format_args!(
            "{{\"pc\":{pc},\"op\":{op},\"gas\":\"{gas:#x}\",\"gasCost\":\"{cost:#x}\",\
             \"memSize\":{memory},\"stack\":[{stack}],\"depth\":{depth},\"refund\":{refund},\
             \"opName\":\"{name}\"{error}}}"
        ));
        self.step.stack = stack;
    }

    fn call(&mut self, _: &mut C, _: &mut CallInputs) -> Option<CallOutcome> {
        self.refunds.push(0);
        None
    }

    fn call_end(&mut self, _: &mut C, _: &CallInputs, outcome: &mut CallOutcome) {
        self.end_frame(&outcome.result);
    }

    fn create(&mut self, _: &mut C, _: &mut CreateInputs) -> Option<CreateOutcome> {
        self.refunds.push(0);
        None
    }

    fn create_end(&mut self, _: &mut C, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.end_frame(&outcome.result);
    }
}
