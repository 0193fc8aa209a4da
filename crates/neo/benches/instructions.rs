//! Times of instructions and native methods on large data, in loops of a script. neo-go runs the
//! same scripts with `-script` of `benchmarks/peers/neo-go`.
//!
//! `cargo bench -p blockmill-neo --bench instructions`: a line for each, with its name,
//! nanoseconds of a round, the rounds of the loop, and the script in hexadecimal digits

use std::time::Instant;

use blockmill_hashes::ManySha256;
use blockmill_neo::execute::{
    block::{Executor, machine},
    chain_view::ChainView,
    contract::native_hash,
    engine::{Chain, Contracts, Engine, Shared, Trigger},
    interop::syscalls::number,
    native::Natives,
    vm::opcode::*,
};
use blockmill_neo::params::Protocol;
use blockmill_neo::state::{Base, State};
use blockmill_neo::types::Block;

/// Rounds of each loop.
const ROUNDS: u32 = 2_000;
/// Repetitions; the fastest one counts.
const RUNS: usize = 7;

fn int32(value: u32) -> Vec<u8> {
    [&[PUSHINT32], &value.to_le_bytes()[..]].concat()
}

fn data(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u16).to_le_bytes();
    [&[PUSHDATA2], &length[..], bytes].concat()
}

/// A non-negative integer of 32 bytes.
fn int256(digits: &str) -> Vec<u8> {
    let mut bytes = blockmill_testkit::hex::decode(digits);
    bytes.reverse();
    [&[PUSHINT256], &bytes[..]].concat()
}

/// A call of a method of StdLib with the `arguments` on the stack; the result is dropped.
fn standard(method: &str, arguments: u8) -> Vec<u8> {
    let mut script = vec![PUSH0 + arguments, PACK, PUSH0 + 15];
    script.extend(data(method.as_bytes()));
    script.extend(data(&native_hash("StdLib")));
    script.push(SYSCALL);
    script.extend(number("System.Contract.Call").to_le_bytes());
    script.push(DROP);
    script
}

/// A script that runs `body` [`ROUNDS`] times after `before`, with two fields.
fn looped(before: &[u8], body: &[u8]) -> Vec<u8> {
    let mut script = vec![INITSSLOT, 2];
    script.extend_from_slice(before);
    script.extend(int32(ROUNDS));
    let start = script.len();
    script.extend_from_slice(body);
    script.extend([DEC, DUP]);
    let back = start as i32 - script.len() as i32;
    script.push(JMPIFL);
    script.extend(back.to_le_bytes());
    script
}

fn buffers(length: u32) -> Vec<u8> {
    let one = [int32(length), vec![NEWBUFFER]].concat();
    [&one[..], &[STSFLD0], &one, &[STSFLD0 + 1]].concat()
}

fn memory_copy(length: u32) -> Vec<u8> {
    let mut body = vec![LDSFLD0, PUSH0, LDSFLD0 + 1, PUSH0];
    body.extend(int32(length));
    body.push(MEMCPY);
    looped(&buffers(length), &body)
}

/// The values of a compound that `make` leaves on the stack.
fn values(make: &[u8]) -> Vec<u8> {
    looped(&[make, &[STSFLD0]].concat(), &[LDSFLD0, VALUES, DROP])
}

/// A map of `count` small numbers.
fn map(count: u32) -> Vec<u8> {
    let mut script = vec![NEWMAP];
    for key in 0..count {
        script.push(DUP);
        script.extend(int32(key));
        script.extend([PUSH1, SETITEM]);
    }
    script
}

/// An array of `count` structs with two fields.
fn structs(count: u32) -> Vec<u8> {
    let mut script = vec![];
    for _ in 0..count {
        script.extend([PUSH1, PUSH0 + 2, PUSH0 + 2, PACKSTRUCT]);
    }
    script.extend(int32(count));
    script.push(PACK);
    script
}

fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    // the order of P-256, and an even number coprime to it
    let prime = "00000000ffffffff00000000ffffffffbce6faada7179e84f3b9cac2fc632551";
    let base = "00000000123456789abcdef0123456789abcdef0123456789abcdef012345679";
    let even = "4000000000000000000000000000000000000000000000000000000000000000";
    let inverse = |modulus: &str| {
        let body = [&int256(base)[..], &[PUSHM1], &int256(modulus), &[MODPOW, DROP]].concat();
        looped(&[], &body)
    };
    let text = |length| [data(&vec![b'z'; length]), standard("base58Decode", 1)].concat();
    let bytes = |length| [data(&vec![0xa5; length]), standard("base58Encode", 1)].concat();
    vec![
        ("memcpy-32", memory_copy(32)),
        ("memcpy-65536", memory_copy(65_536)),
        ("memcpy-131070", memory_copy(131_070)),
        ("modpow-inverse-prime", inverse(prime)),
        ("modpow-inverse-even", inverse(even)),
        ("base58-decode-34", looped(&[], &text(34))),
        ("base58-decode-1024", looped(&[], &text(1_024))),
        ("base58-encode-1024", looped(&[], &bytes(1_024))),
        ("values-array-1000", values(&[int32(1_000), vec![NEWARRAY]].concat())),
        ("values-map-500", values(&map(500))),
        ("values-structs-200", values(&structs(200))),
    ]
    .into_iter()
    .chain(lists())
    .chain(numbers(prime, base))
    .chain(texts())
    .collect()
}

/// Arrays, maps and structs.
fn lists() -> Vec<(&'static str, Vec<u8>)> {
    let array = [int32(1_000), vec![NEWARRAY]].concat();
    let fields = |make: &[u8], body: &[u8]| looped(&[make, &[STSFLD0]].concat(), body);
    let item =
        |make: &[u8], method: &str| fields(make, &[&[LDSFLD0][..], &standard(method, 1)].concat());
    let twins = [&structs(200)[..], &[STSFLD0], &structs(200), &[STSFLD0 + 1]].concat();
    let pick = |field: u8| [vec![field], int32(7), vec![PICKITEM]].concat();
    let equal = [pick(LDSFLD0), pick(LDSFLD0 + 1), vec![EQUAL, DROP]].concat();
    vec![
        ("keys-map-500", fields(&map(500), &[LDSFLD0, KEYS, DROP])),
        ("unpack-pack-1000", fields(&array, &[LDSFLD0, UNPACK, PACK, DROP])),
        ("reverse-1000", fields(&array, &[LDSFLD0, REVERSEITEMS])),
        ("new-array-1000", looped(&[], &[&array[..], &[DROP]].concat())),
        (
            "has-key-500",
            fields(&map(500), &[&[LDSFLD0][..], &int32(499), &[HASKEY, DROP]].concat()),
        ),
        ("equal-structs", looped(&twins, &equal)),
        ("serialize-1000", item(&array, "serialize")),
        ("serialize-map-500", item(&map(500), "serialize")),
        ("json-serialize-1000", item(&array, "jsonSerialize")),
    ]
}

/// Arithmetic with numbers of 256 bits.
fn numbers(prime: &str, base: &str) -> Vec<(&'static str, Vec<u8>)> {
    let (prime, base) = (int256(prime), int256(base));
    let two = |op: u8| looped(&[], &[&base[..], &prime, &[op, DROP]].concat());
    let three = |op: u8| looped(&[], &[&base[..], &base, &prime, &[op, DROP]].concat());
    let one = |op: u8| looped(&[], &[&prime[..], &[op, DROP]].concat());
    vec![
        ("add-256", two(ADD)),
        ("mod-256", two(MOD)),
        ("div-256", two(DIV)),
        ("modmul-256", three(MODMUL)),
        ("modpow-256", three(MODPOW)),
        ("sqrt-256", one(SQRT)),
        ("pow-16-60", looped(&[], &[PUSH16, PUSHINT8, 60, POW, DROP])),
    ]
}

/// Byte strings and texts.
fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let long = data(&b"a".repeat(60_000));
    let call = |method: &str, arguments: &[Vec<u8>]| {
        let count = arguments.len() as u8;
        looped(&[], &[arguments.concat(), standard(method, count)].concat())
    };
    let late = [&b"a".repeat(511)[..], b"b"].concat();
    let words = b"ab ".repeat(341);
    let json = format!("[{}1]", "1,".repeat(500));
    vec![
        ("cat-120000", looped(&[], &[&long[..], &[DUP, CAT, DROP]].concat())),
        ("left-50000", looped(&[], &[&long[..], &int32(50_000), &[LEFT, DROP]].concat())),
        ("memory-search-1024", call("memorySearch", &[data(&late), data(&[b'a'; 1_024])])),
        ("string-split-1024", call("stringSplit", &[data(b" "), data(&words)])),
        ("str-len-1024", call("strLen", &[data(&words)])),
        ("base64-encode-1024", call("base64Encode", &[data(&words)])),
        ("base64-decode-1024", call("base64Decode", &[data(&b"z".repeat(1_024))])),
        ("json-deserialize-500", call("jsonDeserialize", &[data(json.as_bytes())])),
        ("atoi-70", call("atoi", &[data(&[b'1'; 70])])),
        ("itoa-256", call("itoa", &[int256(&"7".repeat(64))])),
    ]
}

fn main() {
    let protocol = Protocol::by_name("mainnet").expect("the main network");
    let mut block = Block { raw: protocol.genesis_block(), ..Block::default() };
    block.decode(protocol.state_root_in_header, &ManySha256::detect()).expect("a block");
    let chain = Chain { protocol, natives: Natives::default(), view: ChainView::empty() };
    let (mut vm, mut state) = (machine(), State::new(Base::default()));
    Executor::default().execute(&mut vm, &chain, &mut state, &block).expect("genesis");
    block.header.index = 1;
    let mut contracts = Contracts::default();
    for (name, script) in scripts() {
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let shared = Shared {
                chain: &chain,
                state: &mut state,
                contracts: &mut contracts,
                block: &block,
            };
            let mut engine = Engine::new(&mut vm, shared, Trigger::Application, None, None);
            engine.load_entry(&script).expect("a script");
            let clock = Instant::now();
            let execution = engine.run();
            best = best.min(clock.elapsed().as_secs_f64() * 1e9);
            assert_eq!(execution.fault, None, "{name}");
        }
        let digits = blockmill_testkit::hex::encode(&script);
        println!("{name} {:.0} {ROUNDS} {digits}", best / f64::from(ROUNDS));
    }
}
