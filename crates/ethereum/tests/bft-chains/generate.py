"""Makes two small chains as validators under IBFT 2.0 and QBFT make them.

Blocks are executed by py-evm; headers, seals and hashes are made here, by what Hyperledger Besu
does with them.
"""

import json
import pathlib
import sys

import rlp
from eth.consensus import ConsensusContext
from eth.db.atomic import AtomicDB
from eth.db.chain import ChainDB
from eth.rlp.headers import BlockHeader
from eth.vm.chain_context import ChainContext
from eth.vm.forks import BerlinVM, LondonVM
from eth.vm.forks.london.blocks import LondonBlockHeader
from eth_account import Account
from eth_hash.auto import keccak
from eth_keys import keys
from trie import HexaryTrie

MIX_HASH = b"ctical byzantine fault tolerance"
EMPTY_OMMERS = keccak(rlp.encode([]))
VANITY = b"blockmill test chain".ljust(32, b"\0")
CHAIN_ID = 1337
GWEI = 10**9
PERIOD = 2
BLOCKS = 28
# keeps COINBASE, the hashes of the two blocks before, and DIFFICULTY
CODE = bytes.fromhex("414355" "6001430340" "4361010001" "55" "6002430340" "4361020001" "55"
                     "4443610300" "01" "55")
CONTRACT = bytes.fromhex("c0de" * 10)
BENEFICIARY = bytes.fromhex("feed" * 10)
USERS = [Account.from_key(keccak(b"user %d" % i)) for i in range(3)]
VALIDATORS = [keys.PrivateKey(keccak(b"validator %d" % i)) for i in range(5)]
BY_ADDRESS = {key.public_key.to_canonical_address(): key for key in VALIDATORS}


def number(value):
    return rlp.sedes.big_endian_int.serialize(value)


class Ibft2:
    """A round has four bytes, no vote is an empty string."""

    name = "ibft2"
    london = None
    reward = 2 * 10**18
    beneficiary = None

    def vote(self, vote):
        return b"" if vote is None else [vote[0], b"\xff" if vote[1] else b"\0"]

    def all(self, validators, vote, round_, seals):
        return [VANITY, validators, self.vote(vote), round_.to_bytes(4, "big"), seals]

    def for_seals(self, items):
        return items[:4]

    def for_hash(self, items):
        return items[:3]


class Qbft:
    """A round is a number, no vote is an empty list."""

    name = "qbft"
    london = 8
    reward = 0
    beneficiary = BENEFICIARY

    def vote(self, vote):
        return [] if vote is None else [vote[0], b"\xff" if vote[1] else b""]

    def all(self, validators, vote, round_, seals):
        return [VANITY, validators, self.vote(vote), number(round_), seals]

    def for_seals(self, items):
        return items[:4] + [[]]

    def for_hash(self, items):
        return items[:3] + [b"", []]


def with_extra_data(header, items):
    return header[:12] + [rlp.encode(items)] + header[13:]


def hash_of(header):
    return keccak(rlp.encode(header))


def root_of(items):
    trie = HexaryTrie({})
    for index, item in enumerate(items):
        trie[rlp.encode(index)] = item
    return trie.root_hash


class Chain:
    """A chain under construction."""

    def __init__(self, engine):
        self.engine = engine
        self.db = AtomicDB()
        self.chaindb = ChainDB(self.db)
        self.validators = sorted(list(BY_ADDRESS)[:4])
        self.nonces = [0] * len(USERS)
        self.blocks = []
        self.hashes = []
        self.begin()

    def begin(self):
        state = self.vm(self.header_of(0, b"\0" * 20, 0, 0x47b760, 0, rlp_root())).state
        state.set_code(CONTRACT, CODE)
        for user in USERS:
            state.set_balance(bytes.fromhex(user.address[2:]), 10**21)
        state.persist()
        self.root = state.state_root
        self.time, self.limit, self.fee, self.used = 0x58EE40BA, 0x47B760, None, 0
        self.proposer = self.validators[-1]
        items = self.engine.all(self.validators, None, 0, [])
        header = self.header([b"\0" * 32, b"\0" * 20, root_of([]), root_of([]), b"\0" * 256, 0])
        header = with_extra_data(header, items)
        self.blocks.append(rlp.encode([header, [], []]))
        # the genesis block is hashed as it is
        self.hashes.append(hash_of(header))

    def header(self, parts):
        parent, coinbase, transactions, receipts, bloom, used = parts
        header = [parent, EMPTY_OMMERS, coinbase, self.root, transactions, receipts, bloom,
                  number(1), number(len(self.blocks)), number(self.limit), number(used),
                  number(self.time), b"", MIX_HASH, b"\0" * 8]
        return header + ([] if self.fee is None else [number(self.fee)])

    def header_of(self, block, coinbase, time, limit, fee, root):
        fields = dict(difficulty=1, block_number=block, gas_limit=limit, timestamp=time,
                      coinbase=coinbase, state_root=root, mix_hash=MIX_HASH)
        if self.is_london(block):
            return LondonBlockHeader(base_fee_per_gas=fee, **fields)
        return BlockHeader(**fields)

    def is_london(self, block):
        return self.engine.london is not None and block >= self.engine.london

    def vm(self, header):
        kind = LondonVM if self.is_london(header.block_number) else BerlinVM
        vm = kind(header, self.chaindb, ChainContext(CHAIN_ID), ConsensusContext(self.db))
        vm._state = vm.build_state(self.db, header, ChainContext(CHAIN_ID),
                                   iter(self.hashes[::-1]) if self.blocks else iter(()))
        return vm

    def transactions(self, block):
        if block % 7 == 5:
            return []
        for index in range(len(USERS) if block % 3 else 1):
            call = (block + index) % 2 == 0
            to = CONTRACT if call else bytes([block]) * 20
            fields = dict(nonce=self.nonces[index], to=to, value=0 if call else 10**15 + block,
                          gas=200_000, data=b"", chainId=CHAIN_ID)
            if self.is_london(block) and index != 1:
                fields |= dict(type=2, maxFeePerGas=5 * GWEI, maxPriorityFeePerGas=GWEI)
            else:
                fields |= dict(gasPrice=4 * GWEI)
            self.nonces[index] += 1
            yield bytes(USERS[index].sign_transaction(fields).raw_transaction)

    def base_fee(self, block):
        if not self.is_london(block):
            return None
        if block == self.engine.london:
            self.limit *= 2
            return GWEI
        target = self.parent_limit // 2
        change = self.fee * abs(self.used - target) // target // 8
        return self.fee + max(change, 1) if self.used > target else self.fee - change

    def add(self, vote, round_, seals):
        block, engine = len(self.blocks), self.engine
        self.parent_limit = self.limit
        self.time += PERIOD + round_
        self.fee = self.base_fee(block)
        after = [v for v in self.validators if v > self.proposer] + self.validators
        self.proposer = after[round_ % len(self.validators)]
        paid = engine.beneficiary or self.proposer
        header = self.header_of(block, paid, self.time, self.limit, self.fee, self.root)
        vm = self.vm(header)
        raw, receipts = list(self.transactions(block)), []
        for encoded in raw:
            transaction = vm.get_transaction_builder().decode(encoded)
            receipt, computation = vm.apply_transaction(header, transaction)
            computation.raise_if_error()
            receipts.append(receipt)
            header = vm.add_receipt_to_header(header, receipt)
        if engine.reward:
            vm.state.delta_balance(paid, engine.reward)
        vm.state.persist()
        self.root, self.used = vm.state.state_root, header.gas_used
        bloom = header.bloom.to_bytes(256, "big")
        parts = [self.hashes[-1], self.proposer, root_of(raw),
                 root_of([receipt.encode() for receipt in receipts]), bloom, header.gas_used]
        self.seal(self.header(parts), vote, round_, seals)
        body = [rlp.decode(tx) if tx[0] >= 0xC0 else tx for tx in raw]
        self.blocks[-1] = rlp.encode([self.blocks[-1], body, []])

    def seal(self, header, vote, round_, seals):
        engine = self.engine
        items = engine.all(self.validators, vote, round_, [])
        signed = hash_of(with_extra_data(header, engine.for_seals(items)))
        signers = [BY_ADDRESS[validator] for validator in self.validators][-seals:]
        items[4] = [key.sign_msg_hash(signed).to_bytes() for key in signers]
        self.hashes.append(hash_of(with_extra_data(header, engine.for_hash(items))))
        self.blocks.append(with_extra_data(header, items))


def rlp_root():
    return root_of([])


def genesis(engine, chain):
    options = {"blockperiodseconds": PERIOD, "epochlength": 30000, "requesttimeoutseconds": 4}
    if engine.reward:
        options["blockreward"] = str(engine.reward)
    if engine.beneficiary:
        options["miningbeneficiary"] = "0x" + engine.beneficiary.hex()
    config = {"chainId": CHAIN_ID, "berlinBlock": 0}
    if engine.london is not None:
        config["londonBlock"] = engine.london
    header = rlp.decode(chain.blocks[0])[0]
    alloc = {user.address[2:].lower(): {"balance": hex(10**21)} for user in USERS}
    alloc[CONTRACT.hex()] = {"balance": "0x0", "code": "0x" + CODE.hex()}
    return {
        "config": config | {engine.name: options},
        "nonce": "0x0",
        "timestamp": "0x58ee40ba",
        "extraData": "0x" + header[12].hex(),
        "gasLimit": "0x47b760",
        "difficulty": "0x1",
        "mixHash": "0x" + MIX_HASH.hex(),
        "coinbase": "0x" + "00" * 20,
        "alloc": alloc,
    }


def make(engine, folder):
    chain = Chain(engine)
    first, new = sorted(list(BY_ADDRESS)[:4])[0], list(BY_ADDRESS)[4]
    for block in range(1, BLOCKS + 1):
        vote = None
        if 3 <= block <= 5:
            vote = (new, True)
        if 13 <= block <= 15:
            vote = (first, False)
        round_ = {6: 1, 7: 2, 18: 300}.get(block, 0)
        most = len(chain.validators)
        chain.add(vote, round_, most if block % 4 == 0 else -(-2 * most // 3))
        # three of four, or of five, are more than half
        if block == 5:
            chain.validators = sorted(chain.validators + [new])
        if block == 15:
            chain.validators.remove(first)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chain.rlp").write_bytes(b"".join(chain.blocks))
    (folder / "genesis.json").write_text(json.dumps(genesis(engine, chain), indent=1) + "\n")
    (folder / "hashes.txt").write_text("".join(h.hex() + "\n" for h in chain.hashes))


if __name__ == "__main__":
    for kind in (Ibft2(), Qbft()):
        make(kind, pathlib.Path(sys.argv[1]) / kind.name)
