//! SHA-256 on CPUs with instructions for it, written once for every kind of them.
//!
//! They do the rounds four at a time, on a state in two registers and a block in four, and one
//! waits for the last. So several independent states side by side take hardly longer than one.

/// Implements [`Compress`](super::sha256::Compress) for `$proof`, a type whose value is the proof
/// that the CPU has `$features`.
///
/// The file that calls it has in scope, for the type of registers `$register` of four words:
///
/// * `four([u32; 4])`, `add(a, b)` of each word, and `words(&[u8; 16])`, which reads big-endian;
/// * `four_rounds(State, scheduled)`, where `State` is `[$register; 2]` in the order that the
///   instructions take, and the words scheduled have the round constants in them;
/// * `schedule(w0, w1, w2, w3)`, the four words after these 16;
/// * `state([u32; 8])` and `state_words(State)`, which bring a state into that order and back.
macro_rules! four_rounds_at_a_time {
    ($proof:ty, $register:ty, $features:literal) => {
        impl<const N: usize> Compress<N> for $proof {
            #[inline]
            fn compress(self, states: &mut States<N>, blocks: [&[[u8; 64]]; N]) {
                // SAFETY: `self` is the proof that the CPU has the features.
                unsafe { compress(states, blocks) }
            }

            #[inline]
            fn end_after_64(self, states: &mut States<N>) {
                // SAFETY: `self` is the proof that the CPU has the features.
                unsafe { end_after_64(states) }
            }

            #[inline]
            fn hash_digests(self, states: &mut States<N>) {
                // SAFETY: `self` is the proof that the CPU has the features.
                unsafe { hash_digests(states) }
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn load<const N: usize>(states: &States<N>) -> [State; N] {
            let mut loaded = [[four([0; 4]); 2]; N];
            for (lane, loaded) in loaded.iter_mut().enumerate() {
                *loaded = state(states.lane(lane));
            }
            loaded
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn store<const N: usize>(states: &mut States<N>, from: [State; N]) {
            for (lane, from) in from.into_iter().enumerate() {
                for (row, word) in states.0.iter_mut().zip(state_words(from)) {
                    row[lane] = word;
                }
            }
        }

        /// Words `4 * i` to `4 * i + 3` of a row of constants.
        #[inline]
        #[target_feature(enable = $features)]
        fn constants(row: &[u32; 16], i: usize) -> $register {
            four(row.as_chunks::<4>().0[i])
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn add_states<const N: usize>(mut states: [State; N], others: [State; N]) -> [State; N] {
            for (state, other) in states.iter_mut().zip(others) {
                *state = [add(state[0], other[0]), add(state[1], other[1])];
            }
            states
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn rounds<const N: usize>(states: [State; N], mut w: [[$register; 4]; N]) -> [State; N] {
            let [first, rest @ ..] = &ROUND_CONSTANTS;
            let mut s = states;
            for i in 0..4 {
                for (state, w) in s.iter_mut().zip(&w) {
                    *state = four_rounds(*state, add(w[i], constants(first, i)));
                }
            }
            for row in rest {
                for i in 0..4 {
                    for (state, w) in s.iter_mut().zip(&mut w) {
                        w[i] = schedule(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
                        *state = four_rounds(*state, add(w[i], constants(row, i)));
                    }
                }
            }
            add_states(states, s)
        }

        #[target_feature(enable = $features)]
        fn compress<const N: usize>(states: &mut States<N>, blocks: [&[[u8; 64]]; N]) {
            let mut s = load(states);
            for i in 0..blocks[0].len() {
                let mut w = [[four([0; 4]); 4]; N];
                for (w, blocks) in w.iter_mut().zip(blocks) {
                    for (w, bytes) in w.iter_mut().zip(blocks[i].as_chunks::<16>().0) {
                        *w = words(bytes);
                    }
                }
                s = rounds(s, w);
            }
            store(states, s);
        }

        /// The rounds of the block that ends a message of 64 bytes.
        #[inline]
        #[target_feature(enable = $features)]
        fn rounds_after_64<const N: usize>(states: [State; N]) -> [State; N] {
            let mut s = states;
            for row in &SCHEDULE_AFTER_64 {
                for i in 0..4 {
                    for state in &mut s {
                        *state = four_rounds(*state, constants(row, i));
                    }
                }
            }
            add_states(states, s)
        }

        #[target_feature(enable = $features)]
        fn end_after_64<const N: usize>(states: &mut States<N>) {
            let after = rounds_after_64(load(states));
            store(states, after);
        }

        #[target_feature(enable = $features)]
        fn hash_digests<const N: usize>(states: &mut States<N>) {
            let [e0, e1, e2, e3, e4, e5, e6, e7] = END_AFTER_32;
            let mut w = [[four([0; 4]); 4]; N];
            for (lane, w) in w.iter_mut().enumerate() {
                let [a, b, c, d, e, f, g, h] = states.lane(lane);
                *w = [
                    four([a, b, c, d]),
                    four([e, f, g, h]),
                    four([e0, e1, e2, e3]),
                    four([e4, e5, e6, e7]),
                ];
            }
            let s = rounds(load(&States::new()), w);
            store(states, s);
        }
    };
}
pub(crate) use four_rounds_at_a_time;
