//! Bitcoin Core's script interpreter over a transaction that is read once.
//!
//! The crate `bitcoinconsensus` has the interpreter, but its interface takes the encoding of a
//! transaction for each input, reads it and hashes it anew: thousands of inputs of one transaction
//! take the square of their number. Core itself reads a transaction once, keeps the hashes that all
//! its inputs sign (BIP143, BIP341), and asks the interpreter input by input. So does
//! [`Transaction`], through a few lines of C++ that call the same functions of the same library
//! (`cpp/interpreter.cpp`). They are compiled against the crate's own headers, so they cannot take
//! a type for another; the crate's version is pinned, as another may name things otherwise.

#![allow(unsafe_code)]

pub use bitcoinconsensus::Error;
use bitcoinconsensus::Utxo;
use std::ptr::NonNull;

/// The rules that [`Transaction::verify`] knows, as flags.
pub mod flags {
    pub use bitcoinconsensus::{
        VERIFY_CHECKLOCKTIMEVERIFY, VERIFY_CHECKSEQUENCEVERIFY, VERIFY_DERSIG, VERIFY_NONE,
        VERIFY_NULLDUMMY, VERIFY_P2SH, VERIFY_TAPROOT, VERIFY_WITNESS,
    };
}

/// A transaction as the interpreter reads it, with the outputs that it spends and the hashes that
/// its inputs share.
#[derive(Debug)]
pub struct Transaction(NonNull<Read>);

/// What only the C++ code looks into.
#[repr(C)]
struct Read {
    private: [u8; 0],
}

// SAFETY: declared as in `cpp/interpreter.cpp`. `Error` is an enum of C with the numbers that the
// header `bitcoinconsensus.h` gives them, which are all that is ever written, and `Utxo` is `UTXO`.
unsafe extern "C" {
    fn blockmill_transaction_read(
        bytes: *const u8,
        length: usize,
        outputs: *const Utxo,
        count: usize,
        error: *mut Error,
    ) -> *mut Read;
    fn blockmill_transaction_verify(
        read: *const Read,
        input: usize,
        flags: u32,
        error: *mut Error,
    ) -> i32;
    fn blockmill_transaction_free(read: *mut Read);
}

impl Transaction {
    /// Reads an encoded transaction, witnesses included. Its inputs spend `outputs`, in order, each
    /// a value and a script. Everything is copied.
    ///
    /// # Errors
    /// [`Error::ERR_TX_DESERIALIZE`] or [`Error::ERR_TX_SIZE_MISMATCH`] when the bytes are no
    /// transaction, [`Error::ERR_SPENT_OUTPUTS_MISMATCH`] when it has another number of inputs.
    pub fn read<'a>(
        encoding: &[u8],
        outputs: impl Iterator<Item = (u64, &'a [u8])>,
    ) -> Result<Self, Error> {
        let output = |(value, script): (u64, &[u8])| Utxo {
            script_pubkey: script.as_ptr(),
            script_pubkey_len: script.len() as u32,
            // to the interpreter amounts are signed numbers
            value: value as i64,
        };
        let outputs: Vec<Utxo> = outputs.map(output).collect();
        let mut error = Error::ERR_SCRIPT;
        // SAFETY: the lengths are those of the slices, the scripts outlive the call, and nothing
        // of them is kept
        let read = unsafe {
            blockmill_transaction_read(
                encoding.as_ptr(),
                encoding.len(),
                outputs.as_ptr(),
                outputs.len(),
                &raw mut error,
            )
        };
        NonNull::new(read).map(Self).ok_or(error)
    }

    /// Does input number `input` fulfil the script of the output that it spends, under the rules of
    /// `flags` (of [`mod@flags`])? Witnesses are not to be asked for without P2SH:
    /// the interpreter ends the process then.
    ///
    /// # Errors
    /// [`Error::ERR_SCRIPT`] when it does not, [`Error::ERR_TX_INDEX`] when there is no such input,
    /// [`Error::ERR_INVALID_FLAGS`] when there are no such rules.
    pub fn verify(&self, input: usize, flags: u32) -> Result<(), Error> {
        let (read, mut error) = (self.0.as_ptr(), Error::ERR_SCRIPT);
        // SAFETY: the pointer is of `read` and not freed yet; the call changes nothing there
        let answer = unsafe { blockmill_transaction_verify(read, input, flags, &raw mut error) };
        if answer == 1 { Ok(()) } else { Err(error) }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // SAFETY: the pointer is of `read`, and this is the last use of it
        unsafe { blockmill_transaction_free(self.0.as_ptr()) }
    }
}
