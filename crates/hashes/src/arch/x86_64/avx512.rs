//! Eight states at once (AVX-512): register `w` holds word `w` of all eight.
//!
//! A round is 90 instructions on two ports, at least 45 cycles; it takes 46 on Cascade Lake, and
//! 49 when theta runs over all lanes before the rows do.

use core::arch::x86_64::{
    __m512i, _bzhi_u64, _mm256_storeu_si256, _mm512_castsi512_si256, _mm512_loadu_si512,
    _mm512_maskz_load_epi64, _mm512_maskz_loadu_epi8, _mm512_or_si512, _mm512_rol_epi64,
    _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_i64x2,
    _mm512_store_si512, _mm512_storeu_si512, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use crate::arch::permutation::permute;
use crate::keccak::{PADDING_AFTER_64, RATE_256, last_word};
use crate::many::{States, Wide};

cpufeatures::new!(cpu, "avx512f", "avx512bw", "bmi2");

/// Proof that the CPU has AVX-512F, AVX-512BW and BMI2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof, or `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(Avx512(()))
    }
}

impl Wide<8> for Avx512 {
    #[inline]
    fn absorb(self, states: &mut States<8>, fresh: u8, rest: &[&[u8]; 8], whole: usize) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb(states, fresh, rest, whole) }
    }

    #[inline]
    fn keccak512_64(self, blocks: &mut [[u8; 64]; 8]) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { keccak512_64(blocks) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // 0x96 is the truth table of a ^ b ^ c
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn rotate<const N: i32>(a: __m512i) -> __m512i {
    _mm512_rol_epi64::<N>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn chi(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // 0xd2 is the truth table of a ^ (!b & c)
    _mm512_ternarylogic_epi64::<0xd2>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor_constant(a: __m512i, constant: u64) -> __m512i {
    _mm512_xor_si512(a, _mm512_set1_epi64(constant as i64))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn theta(c: [__m512i; 5]) -> impl Fn(usize, __m512i) -> __m512i {
    let [c0, c1, c2, c3, c4] = c;
    let r = [rotate::<1>(c0), rotate::<1>(c1), rotate::<1>(c2), rotate::<1>(c3), rotate::<1>(c4)];
    move |x, lane| xor3(lane, c[(x + 4) % 5], r[(x + 1) % 5])
}

/// Turns eight rows of eight words into eight columns: word `i` of row `j` becomes word `j` of
/// row `i`.
///
/// # Safety
/// The CPU must have AVX-512F and AVX-512BW.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn transpose(r: [__m512i; 8]) -> [__m512i; 8] {
    // pairs of rows, the even words of each
    let [c0, c2, c4, c6] = columns(
        _mm512_unpacklo_epi64(r[0], r[1]),
        _mm512_unpacklo_epi64(r[2], r[3]),
        _mm512_unpacklo_epi64(r[4], r[5]),
        _mm512_unpacklo_epi64(r[6], r[7]),
    );
    // and the odd words
    let [c1, c3, c5, c7] = columns(
        _mm512_unpackhi_epi64(r[0], r[1]),
        _mm512_unpackhi_epi64(r[2], r[3]),
        _mm512_unpackhi_epi64(r[4], r[5]),
        _mm512_unpackhi_epi64(r[6], r[7]),
    );
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// Block `i` (two words) of each of four pairs, for each `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn columns(p0: __m512i, p1: __m512i, p2: __m512i, p3: __m512i) -> [__m512i; 4] {
    // 0x88 takes the blocks 0 and 2 of both operands, 0xdd the blocks 1 and 3
    let (even0, even1) =
        (_mm512_shuffle_i64x2::<0x88>(p0, p1), _mm512_shuffle_i64x2::<0x88>(p2, p3));
    let (odd0, odd1) = (_mm512_shuffle_i64x2::<0xdd>(p0, p1), _mm512_shuffle_i64x2::<0xdd>(p2, p3));
    [
        _mm512_shuffle_i64x2::<0x88>(even0, even1),
        _mm512_shuffle_i64x2::<0x88>(odd0, odd1),
        _mm512_shuffle_i64x2::<0xdd>(even0, even1),
        _mm512_shuffle_i64x2::<0xdd>(odd0, odd1),
    ]
}

#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn absorb(states: &mut States<8>, fresh: u8, rest: &[&[u8]; 8], whole: usize) {
    // declared here and not in the caller: its alignment determines that of the stack frame, so
    // that spilled registers do not cross cache lines
    let mut last = [Last([_mm512_setzero_si512(); 2], 0); 8];
    for (last, rest) in last.iter_mut().zip(rest) {
        *last = pad(&rest[whole * RATE_256..]);
    }
    let mut lanes = [_mm512_setzero_si512(); 25];
    for (lane, words) in lanes.iter_mut().zip(&states.words) {
        // SAFETY: `words` are 64 bytes, aligned to 64 because States is and its rows are 64 long.
        *lane = unsafe { _mm512_maskz_load_epi64(!fresh, words.as_ptr().cast()) };
    }
    let mut blocks = rest.map(<[u8]>::as_ptr);
    for i in 0..=whole {
        if i == whole {
            for (block, last) in blocks.iter_mut().zip(&last) {
                *block = (&raw const *last).cast();
            }
        }
        // SAFETY: each pointer is to one of the `whole` blocks, whose presence the slicing above
        // has checked, or to the 136 bytes of a last one.
        unsafe { add_blocks(&mut lanes, &blocks) };
        permute!(lanes);
        for block in &mut blocks {
            *block = block.wrapping_add(RATE_256);
        }
    }
    for (words, lane) in states.words.iter_mut().zip(lanes) {
        // SAFETY: `words` are 64 bytes, aligned to 64 because States is and its rows are 64 long.
        unsafe { _mm512_store_si512(words.as_mut_ptr().cast(), lane) };
    }
    let [w0, w1, w2, w3, ..] = lanes;
    let zero = _mm512_setzero_si512();
    let rows = transpose([w0, w1, w2, w3, zero, zero, zero, zero]);
    for (digest, row) in states.digests.iter_mut().zip(rows) {
        // SAFETY: the store writes the 32 bytes of `digest`.
        unsafe {
            _mm256_storeu_si256(digest.as_mut_ptr().cast(), _mm512_castsi512_si256(row));
        }
    }
}

/// Adds the words of the blocks to the first 17 registers.
///
/// # Safety
/// Each pointer must be to 136 bytes that may be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn add_blocks(lanes: &mut [__m512i; 25], blocks: &[*const u8; 8]) {
    for part in 0..2 {
        let mut rows = [_mm512_setzero_si512(); 8];
        for (row, block) in rows.iter_mut().zip(blocks) {
            // SAFETY: the load reads 64 of the first 128 bytes of the block.
            *row = unsafe { _mm512_loadu_si512(block.add(part * 64).cast()) };
        }
        for (lane, word) in lanes[part * 8..].iter_mut().zip(transpose(rows)) {
            *lane = _mm512_xor_si512(*lane, word);
        }
    }
    let mut words = [0; 8];
    for (word, block) in words.iter_mut().zip(blocks) {
        // SAFETY: the load reads the last eight of the 136 bytes.
        *word = unsafe { block.add(128).cast::<i64>().read_unaligned() };
    }
    let [w0, w1, w2, w3, w4, w5, w6, w7] = words;
    lanes[16] = _mm512_xor_si512(lanes[16], _mm512_set_epi64(w7, w6, w5, w4, w3, w2, w1, w0));
}

/// The last block of a message, 136 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Last([__m512i; 2], u64);

/// The block of the first 136 bytes of `rest`, or of all of it and the padding.
///
/// Without a branch, because the ends of messages are hard to predict.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn pad(rest: &[u8]) -> Last {
    let length = rest.len().min(RATE_256);
    let part = |offset: usize| {
        // one of the lowest bits for each remaining byte; bzhi keeps all 64 for more
        let present = _bzhi_u64(u64::MAX, length.saturating_sub(offset) as u32);
        let from = rest.as_ptr().wrapping_add(offset);
        let padding = RATE_256 - length + offset;
        // SAFETY: the mask selects only bytes of `rest`; the load of PADDING begins at most 136 +
        // 64 bytes into it and it is 64 longer.
        unsafe {
            let present = _mm512_maskz_loadu_epi8(present, from.cast());
            _mm512_or_si512(present, _mm512_loadu_si512(PADDING.as_ptr().add(padding).cast()))
        }
    };
    Last([part(0), part(64)], last_word(rest))
}

/// The padding byte at the end of a block of 136 bytes, with zeros around it.
static PADDING: [u8; RATE_256 + 128] = {
    let mut bytes = [0; RATE_256 + 128];
    bytes[RATE_256] = 0x01;
    bytes
};

#[target_feature(enable = "avx512f,avx512bw")]
fn keccak512_64(blocks: &mut [[u8; 64]; 8]) {
    let mut rows = [_mm512_setzero_si512(); 8];
    for (row, block) in rows.iter_mut().zip(blocks.iter()) {
        // SAFETY: the load reads the 64 bytes of one block.
        *row = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    }
    let mut lanes = [_mm512_setzero_si512(); 25];
    lanes[..8].copy_from_slice(&transpose(rows));
    lanes[8] = _mm512_set1_epi64(PADDING_AFTER_64 as i64);
    permute!(lanes);
    let [w0, w1, w2, w3, w4, w5, w6, w7, ..] = lanes;
    for (block, row) in blocks.iter_mut().zip(transpose([w0, w1, w2, w3, w4, w5, w6, w7])) {
        // SAFETY: the store writes the 64 bytes of one block.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), row) };
    }
}
