//! Neo: blocks, transactions, dumps.

use crate::input::folder;
use blockmill_archive::ChunkLimit;
use blockmill_archive::acc::{Batch, DumpWriter, Reader, inspect, open};
use blockmill_hashes::ManySha256;
use blockmill_neo::types::{
    Attribute, Block, Condition, Conditions, Scopes, Signer, SingleTransaction,
};
use blockmill_neo::types::{Transaction, write};
use std::fs;

/// A byte that says whether headers have state roots, and a block: what is decoded is encoded to
/// the same bytes from its parts, and its hashes are those of its parts. A block in forms that
/// neo-go reads and never writes is first rewritten to neo-go's, which decodes to itself.
pub fn neo_block(data: &[u8]) -> bool {
    let Some((flag, raw)) = data.split_first() else { return false };
    let state_root = flag & 1 == 1;
    let mut block = Block { raw: raw.to_vec(), ..Block::default() };
    if block.decode(state_root, &ManySha256::detect()).is_err() {
        assert!(block.transactions.is_empty());
        return false;
    }
    let mut again = vec![];
    block.header.write(block.witness(), &mut again);
    assert_eq!(block.header_length(), again.len());
    write::number(&mut again, block.transactions.len() as u64);
    for transaction in block.transactions() {
        encode(transaction, &mut again);
        assert_eq!(blockmill_hashes::sha256(transaction.signed_bytes()), transaction.hash().0);
    }
    assert_eq!(again, block.raw);
    if block.raw != raw {
        let mut rewritten = Block { raw: again, ..Block::default() };
        rewritten.decode(state_root, &ManySha256::detect()).expect("a block as neo-go writes it");
        assert_eq!((&rewritten.raw, rewritten.hash), (&block.raw, block.hash));
    }
    let mut header = Block::default();
    header.parse_header(raw, state_root).expect("the header of a block");
    assert_eq!(header.header, block.header);
    true
}

/// Any bytes as a transaction: what is decoded is encoded to the same bytes from its parts.
pub fn neo_transaction(data: &[u8]) -> bool {
    let Ok(single) = SingleTransaction::decode(data.to_vec()) else { return false };
    let mut again = vec![];
    encode(single.get(), &mut again);
    assert_eq!(again, data);
    assert_eq!((single.get().size(), single.get().bytes()), (data.len(), data));
    true
}

fn encode(transaction: Transaction<'_>, out: &mut Vec<u8>) {
    let fields = transaction.fields();
    out.push(0);
    out.extend(fields.nonce.to_le_bytes());
    out.extend(fields.system_fee.to_le_bytes());
    out.extend(fields.network_fee.to_le_bytes());
    out.extend(fields.valid_until_block.to_le_bytes());
    write::number(out, transaction.signers().len() as u64);
    transaction.signers().for_each(|each| signer(each, out));
    write::number(out, transaction.attributes().len() as u64);
    transaction.attributes().for_each(|each| attribute(each, out));
    write::string(out, transaction.script());
    write::number(out, transaction.witnesses().len() as u64);
    transaction.witnesses().for_each(|each| each.write(out));
}

fn signer(signer: Signer<'_>, out: &mut Vec<u8>) {
    out.extend(signer.account().0);
    out.push(signer.scopes().0);
    if signer.scopes().has(Scopes::CUSTOM_CONTRACTS) {
        write::number(out, signer.contracts().len() as u64);
        signer.contracts().for_each(|hash| out.extend(hash.0));
    }
    if signer.scopes().has(Scopes::CUSTOM_GROUPS) {
        write::number(out, signer.groups().len() as u64);
        signer.groups().iter().for_each(|key| out.extend(key));
    }
    if signer.scopes().has(Scopes::WITNESS_RULES) {
        write::number(out, signer.rules().len() as u64);
        for rule in signer.rules() {
            out.push(u8::from(rule.allow));
            condition(&rule.condition, out);
        }
    }
}

/// Conditions are nested three deep at most, so this calls itself no deeper.
fn condition(given: &Condition<'_>, out: &mut Vec<u8>) {
    let several = |conditions: &Conditions<'_>, out: &mut Vec<u8>| {
        write::number(out, conditions.len() as u64);
        conditions.clone().for_each(|each| condition(&each, out));
    };
    out.push(given.kind());
    match given {
        Condition::Boolean(value) => out.push(u8::from(*value)),
        Condition::Not(other) => condition(other, out),
        Condition::And(all) | Condition::Or(all) => several(all, out),
        Condition::ScriptHash(hash) | Condition::CalledByContract(hash) => out.extend(hash.0),
        Condition::Group(key) | Condition::CalledByGroup(key) => out.extend(*key),
        Condition::CalledByEntry => {}
    }
}

fn attribute(given: Attribute<'_>, out: &mut Vec<u8>) {
    match given {
        Attribute::HighPriority => out.push(0x01),
        Attribute::OracleResponse { id, code, result } => {
            out.push(0x11);
            out.extend(id.to_le_bytes());
            out.push(code);
            write::string(out, result);
        }
        Attribute::NotValidBefore(height) => {
            out.push(0x20);
            out.extend(height.to_le_bytes());
        }
        Attribute::Conflicts(hash) => {
            out.push(0x21);
            out.extend(hash.0);
        }
        Attribute::NotaryAssisted(keys) => out.extend([0x22, keys]),
        Attribute::Reserved { kind, value } => {
            out.push(kind);
            write::string(out, value);
        }
    }
}

/// Any bytes as a dump: small and large batches give the same blocks and the same error, what is
/// refused is reported by inspection, and what is whole is written to the same bytes.
pub fn acc(data: &[u8]) -> bool {
    let folder = folder();
    let path = folder.path().join("x.acc");
    fs::write(&path, data).expect("a file");
    let Ok(dumps) = open(std::slice::from_ref(&path)) else { return false };
    let read = |limit| {
        let mut reader = Reader::new(&dumps, 0, limit);
        let (mut batch, mut blocks) = (Batch::default(), vec![]);
        loop {
            match reader.read(&mut batch) {
                Ok(true) => blocks.extend((0..batch.len()).map(|at| batch.block(at).to_vec())),
                Ok(false) => return (blocks, None),
                Err(error) => return (blocks, Some(error.to_string())),
            }
        }
    };
    let (blocks, error) = read(ChunkLimit::default());
    assert_eq!(read(ChunkLimit { blocks: 1, bytes: 0 }), (blocks.clone(), error.clone()));
    let inspection = inspect(&dumps, |_| vec![]);
    assert_eq!(inspection.is_sound(), error.is_none());
    assert_eq!(inspection.files[0].blocks, blocks.len() as u64);
    if error.is_none() && dumps.files()[0].compression.is_none() {
        let out = folder.path().join("again");
        let mut writer = DumpWriter::create(&out, dumps.files()[0].head, false).expect("a file");
        blocks.iter().for_each(|block| writer.append(block).expect("the block that follows"));
        writer.finish().expect("all blocks");
        assert_eq!(fs::read(&out).expect("a file"), data);
    }
    error.is_none()
}
