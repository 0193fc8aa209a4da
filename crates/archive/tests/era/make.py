"""Makes the era and ere files of this folder with remerkleable, an SSZ implementation of its own.

usage: make.py CHAIN.RLP OUT
CHAIN.RLP is execution-apis' chain.rlp. See README.md.
"""
import hashlib
import random
import struct
import sys
from pathlib import Path

import cramjam
import rlp
import zstandard
from eth_hash.auto import keccak
from remerkleable.basic import uint8, uint64, uint256
from remerkleable.bitfields import Bitlist, Bitvector
from remerkleable.byte_arrays import ByteList, ByteVector, Bytes32, Bytes48
from remerkleable.complex import Container, List, Vector
from remerkleable.tree import gindex_bit_iter

Bytes20, Bytes96 = ByteVector[20], ByteVector[96]
NETWORK = "execapis"
SLOTS = 8192


class Fork(Container):
    previous: ByteVector[4]
    current: ByteVector[4]
    epoch: uint64


class BlockHeader(Container):
    slot: uint64
    proposer_index: uint64
    parent_root: Bytes32
    state_root: Bytes32
    body_root: Bytes32


class SignedHeader(Container):
    message: BlockHeader
    signature: Bytes96


class ProposerSlashing(Container):
    one: SignedHeader
    two: SignedHeader


class Checkpoint(Container):
    epoch: uint64
    root: Bytes32


class AttestationData(Container):
    slot: uint64
    index: uint64
    beacon_block_root: Bytes32
    source: Checkpoint
    target: Checkpoint


class Eth1Data(Container):
    deposit_root: Bytes32
    deposit_count: uint64
    block_hash: Bytes32


class DepositData(Container):
    pubkey: Bytes48
    withdrawal_credentials: Bytes32
    amount: uint64
    signature: Bytes96


class Deposit(Container):
    proof: Vector[Bytes32, 33]
    data: DepositData


class Exit(Container):
    epoch: uint64
    validator_index: uint64


class SignedExit(Container):
    message: Exit
    signature: Bytes96


class SyncAggregate(Container):
    bits: Bitvector[512]
    signature: Bytes96


class BlsChange(Container):
    validator_index: uint64
    pubkey: Bytes48
    address: Bytes20


class SignedBlsChange(Container):
    message: BlsChange
    signature: Bytes96


class Withdrawal(Container):
    index: uint64
    validator_index: uint64
    address: Bytes20
    amount: uint64


class DepositRequest(Container):
    pubkey: Bytes48
    withdrawal_credentials: Bytes32
    amount: uint64
    signature: Bytes96
    index: uint64


class WithdrawalRequest(Container):
    source_address: Bytes20
    validator_pubkey: Bytes48
    amount: uint64


class ConsolidationRequest(Container):
    source_address: Bytes20
    source_pubkey: Bytes48
    target_pubkey: Bytes48


class ExecutionRequests(Container):
    deposits: List[DepositRequest, 8192]
    withdrawals: List[WithdrawalRequest, 16]
    consolidations: List[ConsolidationRequest, 2]


def container(name, fields):
    """A container type with these fields."""
    return type(name, (Container,), {"__annotations__": dict(fields)})


PAYLOAD = [
    ("parent_hash", Bytes32), ("fee_recipient", Bytes20), ("state_root", Bytes32),
    ("receipts_root", Bytes32), ("logs_bloom", ByteVector[256]), ("prev_randao", Bytes32),
    ("block_number", uint64), ("gas_limit", uint64), ("gas_used", uint64), ("timestamp", uint64),
    ("extra_data", ByteList[32]), ("base_fee_per_gas", uint256), ("block_hash", Bytes32),
    ("transactions", List[ByteList[2**30], 2**20]),
]
CAPELLA_PAYLOAD = PAYLOAD + [("withdrawals", List[Withdrawal, 16])]
DENEB_PAYLOAD = CAPELLA_PAYLOAD + [("blob_gas_used", uint64), ("excess_blob_gas", uint64)]


def attestations(electra):
    """The types of attestations and slashings of attesters."""
    bits = 2048 * 64 if electra else 2048
    fields = [("bits", Bitlist[bits]), ("data", AttestationData), ("signature", Bytes96)]
    fields += [("committee_bits", Bitvector[64])] if electra else []
    indexed = container("Indexed", [
        ("indices", List[uint64, bits]), ("data", AttestationData), ("signature", Bytes96)])
    slashing = container("AttesterSlashing", [("one", indexed), ("two", indexed)])
    attestation = container("Attestation", fields)
    return List[slashing, 1 if electra else 2], List[attestation, 8 if electra else 128]


def body_of(fork):
    """The type of the body of a block."""
    electra = FORKS.index(fork) >= FORKS.index("electra")
    slashings, votes = attestations(electra)
    fields = [
        ("randao_reveal", Bytes96), ("eth1_data", Eth1Data), ("graffiti", Bytes32),
        ("proposer_slashings", List[ProposerSlashing, 16]), ("attester_slashings", slashings),
        ("attestations", votes), ("deposits", List[Deposit, 16]),
        ("voluntary_exits", List[SignedExit, 16]), ("sync_aggregate", SyncAggregate)]
    changes = ("bls_to_execution_changes", List[SignedBlsChange, 16])
    commitments = ("blob_kzg_commitments", List[Bytes48, 4096])
    if fork == "gloas":
        bid = container("Bid", [("hashes", Vector[Bytes32, 5]), ("numbers", Vector[uint64, 5])])
        signed = container("SignedBid", [("message", bid), ("signature", Bytes96)])
        vote = container("PayloadVote", [
            ("bits", Bitvector[512]), ("data", Vector[uint8, 42]), ("signature", Bytes96)])
        fields += [changes, ("bid", signed), ("votes", List[vote, 4])]
    else:
        payload = {"bellatrix": PAYLOAD, "capella": CAPELLA_PAYLOAD}.get(fork, DENEB_PAYLOAD)
        fields += [("execution_payload", container("Payload", payload))]
        fields += [changes] if fork != "bellatrix" else []
        fields += [commitments] if fork not in ("bellatrix", "capella") else []
        fields += [("execution_requests", ExecutionRequests)] if electra else []
    return container("Body", fields)


FORKS = ["bellatrix", "capella", "deneb", "electra", "fulu", "gloas"]


class SyncCommittee(Container):
    pubkeys: Vector[Bytes48, 512]
    aggregate: Bytes48


class Validator(Container):
    pubkey: Bytes48
    withdrawal_credentials: Bytes32
    effective_balance: uint64
    rest: Vector[uint8, 33]


class Summary(Container):
    block_summary_root: Bytes32
    state_summary_root: Bytes32


class Batch(Container):
    block_roots: Vector[Bytes32, SLOTS]
    state_roots: Vector[Bytes32, SLOTS]


def state_of(fork):
    """The type of a state. Lists that stay empty have simple items."""
    many = List[uint64, 2**40]
    fields = [
        ("genesis_time", uint64), ("genesis_validators_root", Bytes32), ("slot", uint64),
        ("fork", Fork), ("latest_block_header", BlockHeader),
        ("block_roots", Vector[Bytes32, SLOTS]), ("state_roots", Vector[Bytes32, SLOTS]),
        ("historical_roots", List[Bytes32, 2**24]), ("eth1_data", Eth1Data),
        ("eth1_data_votes", List[Eth1Data, 2048]), ("eth1_deposit_index", uint64),
        ("validators", List[Validator, 2**40]), ("balances", many),
        ("randao_mixes", Vector[Bytes32, 65536]), ("slashings", Vector[uint64, 8192]),
        ("previous_participation", List[uint8, 2**40]),
        ("current_participation", List[uint8, 2**40]), ("justification_bits", Bitvector[4]),
        ("previous_justified", Checkpoint), ("current_justified", Checkpoint),
        ("finalized", Checkpoint), ("inactivity_scores", many),
        ("current_sync_committee", SyncCommittee), ("next_sync_committee", SyncCommittee)]
    at = FORKS.index(fork)
    if fork == "gloas":
        fields += [("bid", Vector[Bytes32, 8])]
    else:
        fields += [("latest_execution_payload_header", List[uint8, 2**20])]
    if at >= 1:
        fields += [("next_withdrawal_index", uint64), ("next_withdrawal_validator", uint64),
                   ("historical_summaries", List[Summary, 2**24])]
    if at >= 3:
        fields += [(f"electra_{i}", uint64) for i in range(6)]
        fields += [(f"pending_{i}", many) for i in range(3)]
    if at >= 4:
        fields += [("proposer_lookahead", Vector[uint64, 64])]
    if at >= 5:
        fields += [("payload_availability", Bitvector[SLOTS])]
    return container("State", fields)


def blocks_of(path):
    """Header fields and body lists of each block of a chain."""
    data, at = Path(path).read_bytes(), 0
    while at < len(data):
        _, _, length, start = rlp.codec.consume_length_prefix(data, at)
        yield rlp.decode(data[at:start + length])
        at = start + length


def number(field):
    return int.from_bytes(field, "big")


# the sender of the withdrawal request in block 45, recovered from the signature; the contract of
# EIP-7002 writes the amount with its last byte first
SENDER_45 = bytes.fromhex("7435ed30a8b4aeb0877cef0c6e8cffe834eb865f")


def requests_of(header, transactions):
    """The requests of a block, of which the hash must be that of its header."""
    requests = ExecutionRequests()
    contract = bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002")
    for transaction in transactions:
        fields = rlp.decode(transaction[1:]) if isinstance(transaction, bytes) else []
        if fields and transaction[0] == 2 and fields[5] == contract:
            requests.withdrawals.append(WithdrawalRequest(
                source_address=SENDER_45, validator_pubkey=fields[7][:48],
                amount=number(fields[7][48:])))
    lists = [requests.deposits, requests.withdrawals, requests.consolidations]
    parts = [bytes([kind]) + part.encode_bytes() for kind, part in enumerate(lists) if len(part)]
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    assert hashlib.sha256(digests).digest() == header[20], number(header[8])
    return requests


def payload_of(kind, block):
    """The execution payload of a block."""
    header, transactions = block[0], block[1]
    encoded = [t if isinstance(t, bytes) else rlp.encode(t) for t in transactions]
    fields = dict(
        parent_hash=header[0], fee_recipient=header[2], state_root=header[3],
        receipts_root=header[5], logs_bloom=header[6], prev_randao=header[13],
        block_number=number(header[8]), gas_limit=number(header[9]), gas_used=number(header[10]),
        timestamp=number(header[11]), extra_data=header[12], base_fee_per_gas=number(header[15]),
        block_hash=keccak(rlp.encode(header)), transactions=encoded)
    if len(block) > 3:
        fields["withdrawals"] = [Withdrawal(
            index=number(w[0]), validator_index=number(w[1]), address=w[2], amount=number(w[3]))
            for w in block[3]]
    if len(header) > 17:
        fields.update(blob_gas_used=number(header[17]), excess_blob_gas=number(header[18]))
    return kind(**fields)


def filled(kind, rng, length=1):
    """A value with items in every list of it, that are not real but of the right type."""
    if issubclass(kind, Container):
        return kind(**{name: filled(t, rng, length) for name, t in kind.fields().items()})
    if issubclass(kind, (Bitlist,)):
        return kind(*[rng.random() < 0.5 for _ in range(13)])
    if issubclass(kind, (Bitvector,)):
        return kind(*[rng.random() < 0.5 for _ in range(kind.vector_length())])
    if issubclass(kind, ByteVector):
        return kind(rng.randbytes(kind.type_byte_length()))
    if issubclass(kind, ByteList):
        return kind(rng.randbytes(5))
    if issubclass(kind, List):
        return kind(*[filled(kind.element_cls(), rng) for _ in range(length)])
    if issubclass(kind, Vector):
        return kind(*[filled(kind.element_cls(), rng) for _ in range(kind.vector_length())])
    return kind(rng.randrange(200))


def record(kind, data):
    return struct.pack("<HIH", kind, len(data), 0) + data


def framed(kind, data):
    return record(kind, bytes(cramjam.snappy.compress(data)))


def branch(view, path):
    """The siblings from a leaf up to the root of a value."""
    gindex = path.gindex()
    node, siblings = view.get_backing(), []
    bits, _ = gindex_bit_iter(gindex)
    for right in bits:
        left_node, right_node = node.get_left(), node.get_right()
        siblings.append((left_node if right else right_node).merkle_root())
        node = right_node if right else left_node
    return [bytes(s) for s in reversed(siblings)]


def slot_index(first, offsets):
    data = struct.pack("<Q", first) + b"".join(struct.pack("<q", o) for o in offsets)
    return record(0x3269, data + struct.pack("<Q", len(offsets)))


class Chain:
    """The beacon chain, era after era."""

    def __init__(self, rng):
        self.rng, self.last_root = rng, Bytes32(rng.randbytes(32))
        self.historical, self.summaries = [], []
        self.proofs = {}
        self.validators_root = Bytes32(rng.randbytes(32))

    def skip_era(self):
        self.historical.append(Bytes32(self.rng.randbytes(32)))

    def state(self, fork, slot, block_roots, state_roots):
        kind = state_of(fork)
        state = kind(genesis_time=1000, genesis_validators_root=self.validators_root, slot=slot,
                     block_roots=block_roots, state_roots=state_roots,
                     historical_roots=self.historical)
        if fork != "bellatrix":
            state.historical_summaries = self.summaries
        return state

    def era(self, fork, blocks):
        """An era of blocks at slots of the era: its name and its bytes."""
        number_of_era = len(self.historical) + len(self.summaries) + 1
        first = (number_of_era - 1) * SLOTS
        body = body_of(fork)
        block_kind = container("Block", [
            ("slot", uint64), ("proposer_index", uint64), ("parent_root", Bytes32),
            ("state_root", Bytes32), ("body", body)])
        signed_kind = container("Signed", [("message", block_kind), ("signature", Bytes96)])
        out = record(0x3265, b"")
        places, roots, made = {}, [], {}
        for slot in range(SLOTS):
            if slot in blocks:
                signed = filled(signed_kind, self.rng)
                signed.message.slot = first + slot
                self.fill(signed.message, fork, blocks[slot])
                places[slot] = len(out)
                out += framed(1, signed.encode_bytes())
                self.last_root = signed.message.hash_tree_root()
                made[slot] = (signed.message, blocks[slot])
            roots.append(self.last_root)
        vector = Vector[Bytes32, SLOTS]
        block_roots, state_roots = vector(*roots), vector(*[Bytes32(b"\x07" * 32)] * SLOTS)
        batch = Batch(block_roots=block_roots, state_roots=state_roots)
        if fork == "bellatrix":
            self.historical.append(batch.hash_tree_root())
        else:
            self.summaries.append(Summary(
                block_summary_root=block_roots.hash_tree_root(),
                state_summary_root=state_roots.hash_tree_root()))
        self.prove(fork, first, batch, block_roots, made)
        state = self.state(fork, first + SLOTS, block_roots, state_roots)
        at = len(out)
        out += framed(2, state.encode_bytes())
        end = len(out)
        out += slot_index(first, [places[s] - end if s in places else 0 for s in range(SLOTS)])
        out += slot_index(first + SLOTS, [at - len(out)])
        return f"{NETWORK}-{number_of_era:05}-{batch.hash_tree_root().hex()[:8]}.era", out

    def fill(self, message, fork, block):
        """Puts an execution block into a beacon block; None for one from before the merge."""
        body = message.body
        if fork == "gloas":
            return
        kind = type(body).fields()["execution_payload"]
        body.execution_payload = kind() if block is None else payload_of(kind, block)
        if block is not None and len(block[0]) > 19:
            message.parent_root = block[0][19]
        if block is not None and "execution_requests" in type(body).fields():
            body.execution_requests = requests_of(block[0], block[1])

    def prove(self, fork, first, batch, block_roots, made):
        """Proofs that the execution blocks are canonical (portal network)."""
        for slot, (message, block) in made.items():
            if block is None or fork == "gloas":
                continue
            path = type(message) / "body" / "execution_payload" / "block_hash"
            execution = branch(message, path)
            if fork == "bellatrix":
                kind, beacon = 1, branch(batch, Batch / "block_roots" / slot)
            else:
                kind = 2 if fork == "capella" else 3
                beacon = branch(block_roots, type(block_roots) / slot)
            assert (len(beacon), len(execution)) == {1: (14, 11), 2: (13, 11), 3: (13, 12)}[kind]
            proof = b"".join(beacon) + message.hash_tree_root() + b"".join(execution)
            proof += struct.pack("<Q", first + slot)
            self.proofs[number(block[0][8])] = (kind, proof)


def ere(blocks, proofs):
    """An ere file of blocks with proofs, without receipts: its name and its bytes."""
    out, offsets = record(0x3265, b""), []
    sections = [
        (3, lambda block: rlp.encode(block[0])), (4, lambda block: rlp.encode(block[1:])),
        (0x0b, lambda block: rlp.encode(list(proofs[number(block[0][8])])))]
    for kind, part in sections:
        offsets.append([])
        for block in blocks:
            offsets[-1].append(len(out))
            out += framed(kind, part(block))
    first, end = number(blocks[0][0][8]), len(out)
    data = struct.pack("<Q", first)
    for i in range(len(blocks)):
        data += b"".join(struct.pack("<q", column[i] - end) for column in offsets)
    data += struct.pack("<QQ", len(offsets), len(blocks))
    last = keccak(rlp.encode(blocks[-1][0])).hex()[:8]
    return f"{NETWORK}-00000-{last}-noreceipts.ere", out + record(0x3267, data)


def main():
    chain, out = sys.argv[1:]
    blocks = {number(block[0][8]): block for block in blocks_of(chain)}
    beacon = Chain(random.Random(1))
    beacon.skip_era()
    files = []
    take = lambda slots, first: {slot: blocks[first + i] for i, slot in enumerate(slots)}
    # the first two blocks are from before the merge
    files.append(beacon.era("bellatrix", {1: None, 3: None} | take([5, 6, 8000], 36)))
    files.append(beacon.era("capella", take([0, 2, 4096], 39)))
    files.append(beacon.era("deneb", take([1, 2, 8191], 42)))
    files.append(beacon.era("electra", take([0, 1, 2], 45)))
    files.append(beacon.era("fulu", take([0, 1, 2, 33, 34, 8190, 8191], 48)))
    files.append(ere([blocks[n] for n in range(36, 55)], beacon.proofs))
    listed = [root.hex() for root in beacon.historical]
    listed += [summary.block_summary_root.hex() for summary in beacon.summaries]
    Path(out, "roots.txt").write_text("".join(f"0x{root}\n" for root in listed))
    files.append(beacon.era("gloas", {0: None, 1: None}))
    genesis = record(0x3265, b"")
    at = len(genesis)
    zeros = Vector[Bytes32, SLOTS]()
    beacon.historical, beacon.summaries = [], []
    genesis += framed(2, beacon.state("bellatrix", 0, zeros, zeros).encode_bytes())
    genesis += slot_index(0, [at - len(genesis)])
    files.append((f"{NETWORK}-00000-{beacon.validators_root.hex()[:8]}.era", genesis))
    for name, data in files:
        packed = zstandard.ZstdCompressor(level=19, write_checksum=True).compress(data)
        Path(out, name + ".zst").write_bytes(packed)
        print(name, len(data), len(packed))


if __name__ == "__main__":
    main()
