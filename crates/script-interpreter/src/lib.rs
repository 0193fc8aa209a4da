//! Bitcoin Core's script interpreter over a transaction that is decoded once.
//!
//! The crate `bitcoinconsensus` has the interpreter, but its interface takes an encoded transaction
//! for each input, decodes and hashes it again: the time for a transaction is quadratic in its
//! number of inputs. Core itself decodes a transaction once, caches the hashes that all its inputs
//! sign (BIP143, BIP341), and calls the interpreter input by input. [`Transaction`] does the same,
//! through a few lines of C++ that call the same functions of the same library
//! (`cpp/interpreter.cpp`). They are compiled against the crate's own headers, so types cannot
//! differ; the crate's version is pinned, because another one may have other names.

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

/// A type that only the C++ code accesses.
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
    /// Decodes a transaction, witnesses included. Its inputs spend `outputs`, in order, each a
    /// value and a script. Everything is copied.
    ///
    /// # Errors
    ///
    /// Returns [`Error::ERR_TX_DESERIALIZE`] or [`Error::ERR_TX_SIZE_MISMATCH`] if the bytes are no
    /// transaction, and [`Error::ERR_SPENT_OUTPUTS_MISMATCH`] if it has another number of inputs.
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
        // SAFETY: the lengths are those of the slices, the scripts outlive the call, and no pointer
        // is retained
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

    /// Verifies that input number `input` satisfies the script of the output that it spends, under
    /// the rules of `flags` (of [`mod@flags`]). Do not request witnesses without P2SH: the
    /// interpreter ends the process then.
    ///
    /// # Errors
    ///
    /// Returns [`Error::ERR_SCRIPT`] if it does not, [`Error::ERR_TX_INDEX`] if there is no such
    /// input, and [`Error::ERR_INVALID_FLAGS`] for invalid flags.
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
