//! The mixed load: all kinds of transactions of a live network in random order, some of which fail.

mod governance;
mod oracle;

use super::contract::Deployment;
use super::draft::{Draft, GAS, Who};
use super::notaries::Notaries;
use super::participants::{COMMITTEE, OWNER, Participants, SHARED};
use super::script::{Script, Value, call, payment};
use crate::random::Random;
use anyhow::Result;
use blockmill_neo::execute::block::Executed;
use blockmill_neo::execute::contract::native_hash;
use blockmill_neo::state::State;
use blockmill_neo::types::{Scopes, UInt160};

/// Gas that an oracle request reserves for its response: one half for witnesses, the other for
/// execution.
const ANSWER: i64 = GAS;
/// Limit of oracle responses in a block.
const ANSWERS: usize = 8;
/// Number of called contracts; later deployments replace older ones.
const CONTRACTS: usize = 16;

/// Native contracts.
struct Natives {
    gas: [u8; 20],
    neo: [u8; 20],
    management: [u8; 20],
    oracle: [u8; 20],
    policy: [u8; 20],
}

/// Generates the transactions of a mixed load.
pub struct Mixture {
    random: Random,
    natives: Natives,
    /// The token that all accounts hold.
    token: [u8; 20],
    /// All called tokens, with their names.
    contracts: Vec<([u8; 20], String)>,
    deployments: u32,
    /// Pending oracle requests.
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
        // a wrong name: the update fails
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

    /// The transactions of the block at `height`: oracle responses, and so many others.
    pub fn block(
        &mut self,
        participants: &Participants,
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
                0 => self.notaries.assisted(&mut self.random, participants, state, height),
                _ => {
                    let draft = self.draft(participants, height)?;
                    self.decorated(participants, draft, height)
                }
            };
            drafts.push(draft);
        }
        Ok(drafts)
    }

    /// Updates contracts, requests and deposits from the results of a block.
    pub fn observe(&mut self, executed: &Executed) {
        let notifications = executed.executions.iter().flat_map(|each| &each.notifications);
        let asked = notifications
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

    fn draft(&mut self, participants: &Participants, height: u32) -> Result<Draft> {
        let from = participants.any(&mut self.random);
        Ok(match self.random.below(200) {
            0..36 => self.transfer(participants, from, self.natives.gas, 1_000, GAS * 3 / 20),
            36..52 => self.transfer(participants, from, self.natives.neo, 2, GAS * 3 / 10),
            52..100 => self.transfer(participants, from, self.token, 4, GAS * 3 / 10),
            100..102 => self.transfer(participants, from, self.token, 1 << 40, GAS * 3 / 10),
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
            171..173 => self.deploy(participants)?,
            173..175 => self.update()?,
            175 => {
                let contract = self.contract();
                let is_main = contract == self.token;
                let method = if is_main { "decimals" } else { "destroy" };
                self.contracts.retain(|(each, _)| is_main || *each != contract);
                simple(from, &contract, method, &[], GAS)
            }
            176..182 => self.vote(participants, from),
            182 => self.candidate(participants),
            183..188 => self.ask(from),
            188..194 => self.notaries.deposit(&mut self.random, participants, from, height),
            194 => self.policy(),
            _ => {
                let amount = self.below(1_000);
                let to = participants.hash(participants.any(&mut self.random));
                let from = participants.hash(SHARED);
                let values = payment(&from, &to, amount, Value::Null);
                let script = call(&self.natives.gas, "transfer", &values, true);
                Draft::new(SHARED, script, GAS * 3 / 20)
            }
        })
    }

    /// Some transactions have attributes, more signers, or wider scopes.
    fn decorated(&mut self, participants: &Participants, draft: Draft, height: u32) -> Draft {
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
                // a contract that accepts everything
                let contract = UInt160(self.token);
                draft.with(Who::Contract(contract), Scopes::NONE)
            }
            3 => {
                let other = participants.any(&mut self.random);
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
        participants: &Participants,
        from: usize,
        token: [u8; 20],
        most: u64,
        fee: i64,
    ) -> Draft {
        // sometimes to the sender, sometimes zero
        let to = if self.random.below(40) == 0 { from } else { participants.any(&mut self.random) };
        let amount = self.below(most);
        let data = if self.random.below(10) == 0 { Value::Integer(7) } else { Value::Null };
        let (own, to) = (participants.hash(from), participants.hash(to));
        // sometimes to a contract
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

    /// A call through another contract: a caught failure rolls back only the inner call.
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

    fn deploy(&mut self, participants: &Participants) -> Result<Draft> {
        self.deployments += 1;
        let name = format!("Mill {}", self.deployments);
        let deployment = Deployment::new(&name, (self.deployments % 100) as u8)?;
        let owner = participants.hash(OWNER);
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

    /// Updates a contract to another version. The main token is not updated.
    fn update(&mut self) -> Result<Draft> {
        let (contract, name) = self.contract_and_name();
        // the name must not change: a wrong one fails
        let other = Deployment::new(&name, self.random.below(100) as u8)?;
        let values = [Value::Bytes(&other.code), Value::Bytes(&other.manifest)];
        Ok(simple(OWNER, &contract, "update", &values, 10 * GAS))
    }
}

/// A call with an ignored result.
pub fn simple(
    from: usize,
    contract: &[u8; 20],
    method: &str,
    values: &[Value<'_>],
    fee: i64,
) -> Draft {
    Draft::new(from, call(contract, method, values, false), fee)
}

/// The integer in the first element of a serialized array.
fn first_number(array: &[u8]) -> Option<u64> {
    // array, its length, integer, its length, the integer
    let [0x40, _, 0x21, length, rest @ ..] = array else { return None };
    let digits = rest.get(..usize::from(*length))?;
    (digits.len() <= 8)
        .then(|| digits.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}
