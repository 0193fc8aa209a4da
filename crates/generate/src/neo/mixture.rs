//! The mixed load: what transactions of a live network do, in any order, some of it wrong.

use super::contract::Deployment;
use super::draft::{Draft, GAS, Who};
use super::notaries::Notaries;
use super::people::{COMMITTEE, ORACLES, OWNER, People, SHARED};
use super::script::{Script, Value, call, payment};
use crate::random::Random;
use anyhow::Result;
use blockmill_neo::execute::block::Executed;
use blockmill_neo::execute::contract::native_hash;
use blockmill_neo::execute::vm::opcode::{NEWARRAY0, PUSH0, PUSHDATA1, SYSCALL};
use blockmill_neo::state::State;
use blockmill_neo::types::{Scopes, UInt160, write};

/// What a request sets aside for its answer; one half is for witnesses, the other for what the
/// answer does.
const ANSWER: i64 = GAS;
/// The most answers of a block.
const ANSWERS: usize = 8;
/// Contracts that are called; those deployed later replace older ones.
const CONTRACTS: usize = 16;

/// Native contracts.
struct Natives {
    gas: [u8; 20],
    neo: [u8; 20],
    management: [u8; 20],
    oracle: [u8; 20],
    policy: [u8; 20],
}

/// A source of transactions.
pub struct Mixture {
    random: Random,
    natives: Natives,
    /// The one that all accounts have some of.
    token: [u8; 20],
    /// That and others, with their names.
    contracts: Vec<([u8; 20], String)>,
    deployments: u32,
    /// Requests that wait for an answer.
    requests: Vec<u64>,
    notaries: Notaries,
}

impl Mixture {
    pub fn new(seed: u64, token: [u8; 20]) -> Self {
        let natives = Natives {
            gas: native_hash("GasToken"),
            neo: native_hash("NeoToken"),
            management: native_hash("ContractManagement"),
            oracle: native_hash("OracleContract"),
            policy: native_hash("PolicyContract"),
        };
        // another name than its own: it stays as it is
        let contracts = vec![(token, "Another".to_owned())];
        let random = Random(seed ^ 0x6d69_7865_6421);
        Self {
            random,
            natives,
            token,
            contracts,
            deployments: 0,
            requests: vec![],
            notaries: Notaries::default(),
        }
    }

    /// The transactions of the block at `height`: answers that are due, and so many others.
    pub fn block(
        &mut self,
        people: &People,
        state: &State,
        height: u32,
        count: u32,
    ) -> Result<Vec<Draft>> {
        self.notaries.begin_block();
        let due = self.requests.len().min(ANSWERS);
        let due: Vec<u64> = self.requests.drain(..due).collect();
        let mut drafts: Vec<Draft> = due.into_iter().map(|id| self.answer(id)).collect();
        for _ in 0..count {
            let draft = match self.random.below(40) {
                0 => self.notaries.assisted(&mut self.random, people, state, height),
                _ => {
                    let draft = self.draft(people, height)?;
                    self.decorated(people, draft, height)
                }
            };
            drafts.push(draft);
        }
        Ok(drafts)
    }

    /// Takes in what became of a block.
    pub fn learn(&mut self, executed: &Executed) {
        let told = executed.executions.iter().flat_map(|each| &each.notifications);
        let asked = told
            .filter(|each| each.contract.0 == self.natives.oracle && each.name == "OracleRequest");
        self.requests.extend(asked.filter_map(|each| first_number(&each.state)));
    }

    fn below(&mut self, bound: u64) -> i64 {
        self.random.below(bound) as i64
    }

    fn bytes(&mut self, least: u64, most: u64) -> Vec<u8> {
        let length = least + self.random.below(most - least + 1);
        let mut bytes = vec![0; length as usize];
        self.random.fill(&mut bytes);
        bytes
    }

    /// The key of one of 50,000 values.
    fn key(&mut self) -> [u8; 4] {
        (self.random.below(50_000) as u32).to_be_bytes()
    }

    fn contract(&mut self) -> [u8; 20] {
        self.contract_and_name().0
    }

    fn contract_and_name(&mut self) -> ([u8; 20], String) {
        self.contracts[self.random.below(self.contracts.len() as u64) as usize].clone()
    }

    fn draft(&mut self, people: &People, height: u32) -> Result<Draft> {
        let from = people.any(&mut self.random);
        Ok(match self.random.below(200) {
            0..36 => self.transfer(people, from, self.natives.gas, 1_000, GAS * 3 / 20),
            36..52 => self.transfer(people, from, self.natives.neo, 2, GAS * 3 / 10),
            52..100 => self.transfer(people, from, self.token, 4, GAS * 3 / 10),
            100..102 => self.transfer(people, from, self.token, 1 << 40, GAS * 3 / 10),
            102..122 => self.put(from),
            122..130 => {
                let (contract, key) = (self.contract(), self.key());
                simple(from, &contract, "del", &[Value::Bytes(&key)], GAS / 10)
            }
            130..138 => self.scan(from),
            138..152 => {
                let (contract, rounds, seed) = (self.contract(), self.below(45), self.key());
                let values = [Value::Integer(rounds), Value::Bytes(&seed)];
                simple(from, &contract, "work", &values, 5 * GAS)
            }
            152..156 => simple(from, &self.token, "info", &[], GAS / 10),
            156..159 => {
                let (contract, key) = (self.contract(), self.key());
                simple(from, &contract, "fail", &[Value::Bytes(&key)], GAS)
            }
            159..161 => {
                let gas = self.below(GAS as u64 / 5);
                simple(from, &self.token, "burn", &[Value::Integer(gas)], GAS / 10)
            }
            161..171 => self.forward(from),
            171..173 => self.deploy(people)?,
            173..175 => self.update()?,
            175 => {
                let contract = self.contract();
                let is_main = contract == self.token;
                let method = if is_main { "decimals" } else { "destroy" };
                self.contracts.retain(|(each, _)| is_main || *each != contract);
                simple(from, &contract, method, &[], GAS)
            }
            176..182 => self.vote(people, from),
            182 => self.candidate(people),
            183..188 => self.ask(from),
            188..194 => self.notaries.deposit(&mut self.random, people, from, height),
            194 => self.policy(),
            _ => {
                let amount = self.below(1_000);
                let to = people.hash(people.any(&mut self.random));
                let from = people.hash(SHARED);
                let values = payment(&from, &to, amount, Value::Null);
                let script = call(&self.natives.gas, "transfer", &values, true);
                Draft::new(SHARED, script, GAS * 3 / 20)
            }
        })
    }

    /// Some transactions have attributes, more signers, or wider scopes.
    fn decorated(&mut self, people: &People, draft: Draft, height: u32) -> Draft {
        match self.random.below(40) {
            0 => {
                let mut attribute = vec![0x21];
                attribute.extend(self.bytes(32, 32));
                draft.attribute(attribute)
            }
            1 => {
                let mut attribute = vec![0x20];
                let from = self.random.below(u64::from(height)) as u32;
                attribute.extend_from_slice(&from.to_le_bytes());
                draft.attribute(attribute)
            }
            2 => {
                // a contract that agrees to everything
                let contract = UInt160(self.token);
                draft.with(Who::Contract(contract), Scopes::NONE)
            }
            3 => {
                let other = people.any(&mut self.random);
                let is_there = |(who, _): &(Who, Scopes)| match who {
                    Who::Account(account) => *account == other,
                    Who::Contract(_) | Who::Notary(_) => false,
                };
                match draft.signers.iter().any(is_there) {
                    true => draft,
                    false => draft.with(Who::Account(other), Scopes::GLOBAL),
                }
            }
            4 if draft.signers.iter().any(|(who, _)| matches!(who, Who::Account(COMMITTEE))) => {
                draft.attribute(vec![0x01])
            }
            _ => draft,
        }
    }

    fn transfer(
        &mut self,
        people: &People,
        from: usize,
        token: [u8; 20],
        most: u64,
        fee: i64,
    ) -> Draft {
        // to oneself now and then, and nothing
        let to = if self.random.below(40) == 0 { from } else { people.any(&mut self.random) };
        let amount = self.below(most);
        let data = if self.random.below(10) == 0 { Value::Integer(7) } else { Value::Null };
        let (own, to) = (people.hash(from), people.hash(to));
        // a payment to a contract now and then
        let to = if self.random.below(30) == 0 { self.contract() } else { to };
        let script = call(&token, "transfer", &payment(&own, &to, amount, data), true);
        Draft::new(from, script, fee)
    }

    fn put(&mut self, from: usize) -> Draft {
        let (contract, key, value) = (self.contract(), self.key(), self.bytes(0, 128));
        let values = [Value::Bytes(&key), Value::Bytes(&value)];
        simple(from, &contract, "put", &values, GAS)
    }

    fn scan(&mut self, from: usize) -> Draft {
        let (contract, key) = (self.contract(), self.key());
        let method = if self.random.below(2) == 0 { "scan" } else { "scanBack" };
        let values = [Value::Bytes(&key[..3]), Value::Integer(20)];
        simple(from, &contract, method, &values, GAS / 5)
    }

    /// A call through another contract: what fails there leaves nothing, but the rest stays.
    fn forward(&mut self, from: usize) -> Draft {
        let (outer, inner) = (self.contract(), self.contract());
        let (key, value) = (self.key(), self.bytes(1, 40));
        let deeper = [Value::Bytes(&key), Value::Bytes(&value)];
        let (method, arguments) = match self.random.below(4) {
            0 => ("fail", vec![Value::Bytes(&key)]),
            1 => ("put", deeper.to_vec()),
            2 => ("nothing of this name", vec![]),
            _ => {
                let again =
                    [Value::Bytes(&inner), Value::Bytes(b"put"), Value::Array(deeper.into())];
                ("forward", again.to_vec())
            }
        };
        let values =
            [Value::Bytes(&inner), Value::Bytes(method.as_bytes()), Value::Array(arguments)];
        let mut script = Script::default();
        script.call(&outer, "put", &[Value::Bytes(&key[1..]), Value::Bytes(&value)]);
        script.call(&outer, "forward", &values);
        Draft::new(from, script.done(), GAS)
    }

    fn deploy(&mut self, people: &People) -> Result<Draft> {
        self.deployments += 1;
        let name = format!("Mill {}", self.deployments);
        let deployment = Deployment::new(&name, (self.deployments % 100) as u8)?;
        let owner = people.hash(OWNER);
        let contract = deployment.hash(&owner);
        match self.contracts.len() < CONTRACTS {
            true => self.contracts.push((contract, name)),
            false => {
                let place = 1 + self.random.below(CONTRACTS as u64 - 1) as usize;
                self.contracts[place] = (contract, name);
            }
        }
        let script = super::deployed(&self.natives.management, &deployment, &owner);
        Ok(Draft::new(OWNER, script, 20 * GAS))
    }

    /// Another version of a contract in its place. The one that all depends on stays as it is.
    fn update(&mut self) -> Result<Draft> {
        let (contract, name) = self.contract_and_name();
        // the name may not change: a wrong one fails
        let other = Deployment::new(&name, self.random.below(100) as u8)?;
        let values = [Value::Bytes(&other.code), Value::Bytes(&other.manifest)];
        Ok(simple(OWNER, &contract, "update", &values, 10 * GAS))
    }

    fn vote(&mut self, people: &People, from: usize) -> Draft {
        let candidate = people.candidate(&mut self.random);
        let choice = match self.random.below(5) {
            0 => Value::Null,
            _ => Value::Bytes(&candidate),
        };
        let account = people.hash(from);
        let values = [Value::Bytes(&account), choice];
        simple(from, &self.natives.neo, "vote", &values, GAS / 2)
    }

    /// A candidate gives up, or comes back; the owner pays.
    fn candidate(&mut self, people: &People) -> Draft {
        let number = self.random.below(people.candidates.len() as u64) as usize;
        let method = match self.random.below(2) {
            0 => "unregisterCandidate",
            _ => "registerCandidate",
        };
        people.candidacy(number, method)
    }

    fn ask(&mut self, from: usize) -> Draft {
        let url = format!("https://example.org/{}", self.random.below(40));
        let data = self.bytes(0, 30);
        let filter = if self.random.below(2) == 0 { Value::Null } else { Value::Bytes(b"$.a") };
        let gas = if self.random.below(10) == 0 { 1 } else { ANSWER };
        let values =
            [Value::Bytes(url.as_bytes()), filter, Value::Bytes(&data), Value::Integer(gas)];
        simple(from, &self.token, "ask", &values, 3 * GAS)
    }

    /// The oracle nodes' answer, paid by what the request set aside.
    fn answer(&mut self, id: u64) -> Draft {
        // the only script that answers have (`CreateOracleResponseScript`)
        let mut script = vec![NEWARRAY0, PUSH0 + 15, PUSHDATA1, 6];
        script.extend_from_slice(b"finish");
        script.extend([PUSHDATA1, 20]);
        script.extend_from_slice(&self.natives.oracle);
        script.push(SYSCALL);
        let number = blockmill_neo::execute::interop::syscalls::number("System.Contract.Call");
        script.extend_from_slice(&number.to_le_bytes());
        let mut attribute = vec![0x11];
        attribute.extend_from_slice(&id.to_le_bytes());
        // not found, now and then
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

    /// The committee sets a fee, never above what we pay; or blocks somebody.
    fn policy(&mut self) -> Draft {
        let policy = self.natives.policy;
        let set = |method: &'static str, value| {
            simple(COMMITTEE, &policy, method, &[Value::Integer(value)], GAS)
        };
        match self.random.below(4) {
            0 => set("setFeePerByte", 500 + self.below(501)),
            // in units of 10^-12 since Faun
            1 => set("setExecFeeFactor", 200_000 + self.below(100_001)),
            2 => set("setStoragePrice", 50_000 + self.below(50_001)),
            _ => {
                let account = self.bytes(20, 20);
                simple(COMMITTEE, &policy, "blockAccount", &[Value::Bytes(&account)], GAS)
            }
        }
    }
}

/// One call, whose answer does not matter.
pub fn simple(
    from: usize,
    contract: &[u8; 20],
    method: &str,
    values: &[Value<'_>],
    fee: i64,
) -> Draft {
    Draft::new(from, call(contract, method, values, false), fee)
}

/// The number that a serialized array begins with.
fn first_number(array: &[u8]) -> Option<u64> {
    // array, its length, integer, its length, the integer
    let [0x40, _, 0x21, length, rest @ ..] = array else { return None };
    let digits = rest.get(..usize::from(*length))?;
    (digits.len() <= 8)
        .then(|| digits.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}
