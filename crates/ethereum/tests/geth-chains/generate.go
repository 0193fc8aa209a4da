// Writes small chains whose rules no public chain has, as go-ethereum executes them: for each a
// genesis.json and an RLP export. README.md says what each is for.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"log"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/clique"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

var (
	key      = must(crypto.ToECDSA(bytes.Repeat([]byte{7}, 32)))
	sender   = crypto.PubkeyToAddress(key.PublicKey)
	keeper   = common.HexToAddress("0xc0de")
	payer    = common.HexToAddress("0xc0df")
	richness = new(big.Int).Sub(power(255), common.Big1)
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func power(bits uint) *big.Int { return new(big.Int).Lsh(common.Big1, bits) }

func sum(a *big.Int, b int64) *big.Int { return new(big.Int).Add(a, big.NewInt(b)) }

func number(n int64) *big.Int { return big.NewInt(n) }

func zero() *uint64 { return new(uint64) }

// dao has a fork of the DAO at block 3, before or at Spurious Dragon.
func dao(eip150, eip158 int64) *core.Genesis {
	drained := params.DAODrainList()
	return &core.Genesis{
		Config: &params.ChainConfig{
			ChainID: number(61), HomesteadBlock: number(0), DAOForkBlock: number(3),
			DAOForkSupport: true, EIP150Block: number(eip150), EIP155Block: number(eip158),
			EIP158Block: number(eip158), Ethash: new(params.EthashConfig),
		},
		Difficulty: number(131072), GasLimit: 4_000_000,
		Alloc: types.GenesisAlloc{
			sender:     {Balance: power(100)},
			drained[0]: {Balance: number(1_000)},
			drained[1]: {Balance: number(50), Nonce: 3, Code: []byte{0x60, 0x00}},
			drained[2]: {Balance: number(0)},
			// sends a wei to the account in the first word of its input
			payer: {Balance: number(1_000), Code: common.FromHex("600060006000600060016000356103e8f160005500")},
		},
	}
}

// merged is under proof of stake from its first block on, with every fork to Prague.
func merged(id *big.Int) *core.Genesis {
	system := func(code []byte) types.Account {
		return types.Account{Nonce: 1, Code: code, Balance: number(0)}
	}
	return &core.Genesis{
		Config: &params.ChainConfig{
			ChainID: id, HomesteadBlock: number(0), EIP150Block: number(0), EIP155Block: number(0),
			EIP158Block: number(0), ByzantiumBlock: number(0), ConstantinopleBlock: number(0),
			PetersburgBlock: number(0), IstanbulBlock: number(0), BerlinBlock: number(0),
			LondonBlock: number(0), TerminalTotalDifficulty: number(0), ShanghaiTime: zero(),
			CancunTime: zero(), PragueTime: zero(),
			BlobScheduleConfig: &params.BlobScheduleConfig{
				Cancun: params.DefaultCancunBlobConfig, Prague: params.DefaultPragueBlobConfig,
			},
		},
		Difficulty: number(0), GasLimit: 30_000_000,
		Alloc: types.GenesisAlloc{
			sender:                           {Balance: richness},
			keeper:                           {Balance: number(0), Code: keeping()},
			params.BeaconRootsAddress:        system(params.BeaconRootsCode),
			params.HistoryStorageAddress:     system(params.HistoryStorageCode),
			params.WithdrawalQueueAddress:    system(params.WithdrawalQueueCode),
			params.ConsolidationQueueAddress: system(params.ConsolidationQueueCode),
		},
	}
}

// keeping is the code of a contract that stores base fee, gas price, blob base fee and chain id, in
// the four slots from 4 times the first word of its input on.
func keeping() []byte {
	var code []byte
	for at, op := range []byte{0x48, 0x3a, 0x4a, 0x46} {
		// op, PUSH1 0, CALLDATALOAD, PUSH1 4, MUL, PUSH1 at, ADD, SSTORE
		code = append(code, op, 0x60, 0, 0x35, 0x60, 4, 0x02, 0x60, byte(at), 0x01, 0x55)
	}
	return append(code, 0x00)
}

func word(n int) []byte { return common.LeftPadBytes(number(int64(n)).Bytes(), 32) }

// logging is the code of a contract that logs its input under the topic of a deposit (EIP-6110).
func logging() []byte {
	topic := crypto.Keccak256([]byte("DepositEvent(bytes,bytes,bytes,bytes,bytes)"))
	// CALLDATASIZE, PUSH1 0, PUSH1 0, CALLDATACOPY, PUSH32 topic, CALLDATASIZE, PUSH1 0, LOG1
	code := append(common.FromHex("3660006000377f"), topic...)
	return append(code, common.FromHex("366000a100")...)
}

// deposit is the data of a deposit event, each value of which is made of bytes n.
func deposit(n byte) []byte {
	var offsets, values []byte
	for _, length := range []int{48, 32, 8, 96, 8} {
		offsets = append(offsets, word(5*32+len(values))...)
		values = append(values, word(length)...)
		padded := make([]byte, (length+31)/32*32)
		copy(padded, bytes.Repeat([]byte{n}, length))
		values = append(values, padded...)
	}
	return append(offsets, values...)
}

// fees are those of a transaction: priority, all, blobs.
type fees struct{ tip, max, blob *big.Int }

// everyType adds a transaction of each type to block `at`, which keeps what it sees. The delegations
// of the last one are for this chain, for any, for another, and for the low 64 bits of this one.
func everyType(signer types.Signer, id *big.Int, block *core.BlockGen, at int, f fees) {
	wide := uint256.MustFromBig
	const gas = 300_000
	var delegations []types.SetCodeAuthorization
	for i, chain := range []*big.Int{id, number(0), number(5), new(big.Int).SetUint64(id.Uint64())} {
		authority := must(crypto.ToECDSA(bytes.Repeat([]byte{byte(0x10*at + i + 0x20)}, 32)))
		delegation := types.SetCodeAuthorization{ChainID: *wide(chain), Address: keeper}
		delegations = append(delegations, must(types.SignSetCode(authority, delegation)))
	}
	nonce, none, blobs := block.TxNonce(sender), number(0), []common.Hash{{1, 7}}
	for i, data := range []types.TxData{
		&types.LegacyTx{Nonce: nonce, GasPrice: f.max, Gas: gas, To: &keeper, Value: none, Data: word(8 * at)},
		&types.AccessListTx{ChainID: id, Nonce: nonce + 1, GasPrice: f.max, Gas: gas, To: &keeper, Value: none,
			Data: word(8*at + 1)},
		&types.DynamicFeeTx{ChainID: id, Nonce: nonce + 2, GasTipCap: f.tip, GasFeeCap: f.max, Gas: gas, To: &keeper,
			Value: none, Data: word(8*at + 2)},
		&types.BlobTx{ChainID: wide(id), Nonce: nonce + 3, GasTipCap: wide(f.tip), GasFeeCap: wide(f.max), Gas: gas,
			To: keeper, Value: wide(none), BlobFeeCap: wide(f.blob), BlobHashes: blobs, Data: word(8*at + 3)},
		&types.SetCodeTx{ChainID: wide(id), Nonce: nonce + 4, GasTipCap: wide(f.tip), GasFeeCap: wide(f.max), Gas: gas,
			To: keeper, Value: wide(none), AuthList: delegations, Data: word(8*at + 4)},
	} {
		tx, err := types.SignNewTx(key, signer, data)
		if err != nil {
			log.Fatalf("type %d: %v", i, err)
		}
		block.AddTx(tx)
	}
}

// write generates a chain, imports it as a node does, and writes both files.
func write(name string, genesis *core.Genesis, blocks int, fill func(int, *core.BlockGen)) {
	engine := beacon.New(ethash.NewFaker())
	_, made, _ := core.GenerateChainWithGenesis(genesis, engine, blocks, fill)
	export(name, genesis, engine, made)
	must(0, os.WriteFile(name+"/genesis.json", must(json.MarshalIndent(genesis, "", " ")), 0o644))
}

// export imports a chain as a node does, and writes it.
func export(name string, genesis *core.Genesis, engine consensus.Engine, made []*types.Block) {
	chain := must(core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, engine, nil))
	if at, err := chain.InsertChain(made); err != nil {
		log.Fatalf("%s, block %d: %v", name, at, err)
	}
	chain.Stop()
	var export bytes.Buffer
	for _, block := range append([]*types.Block{genesis.ToBlock()}, made...) {
		if err := block.EncodeRLP(&export); err != nil {
			log.Fatal(err)
		}
	}
	os.MkdirAll(name, 0o755)
	must(0, os.WriteFile(name+"/chain.rlp", export.Bytes(), 0o644))
}

// before is a chain before the merge, with London at block 3. A contract keeps what DIFFICULTY and
// COINBASE give.
func before() *core.Genesis {
	return &core.Genesis{
		Config: &params.ChainConfig{
			ChainID: number(61), HomesteadBlock: number(0), EIP150Block: number(0), EIP155Block: number(0),
			EIP158Block: number(0), ByzantiumBlock: number(0), ConstantinopleBlock: number(0),
			PetersburgBlock: number(0), IstanbulBlock: number(0), BerlinBlock: number(0), LondonBlock: number(3),
		},
		GasLimit: 4_000_000,
		Alloc: types.GenesisAlloc{
			sender: {Balance: power(100)},
			// DIFFICULTY, NUMBER, SSTORE, COINBASE, NUMBER, PUSH1 128, ADD, SSTORE
			keeper: {Balance: number(0), Code: common.FromHex("44435541436080015500")},
		},
	}
}

// kept sends a transaction to the contract that keeps.
func kept(genesis *core.Genesis, block *core.BlockGen) {
	data := &types.LegacyTx{Nonce: block.TxNonce(sender), GasPrice: number(3_000_000_000), Gas: 200_000, To: &keeper,
		Value: number(0)}
	block.AddTx(types.MustSignNewTx(key, types.MakeSigner(genesis.Config, block.Number(), block.Timestamp()), data))
}

// authority is a chain of two signers who take turns, with a checkpoint every four blocks and votes
// that nobody joins, until proof of stake follows.
func authority(name string, blocks, stake int) {
	genesis := before()
	genesis.Config.Clique = &params.CliqueConfig{Period: 5, Epoch: 4}
	genesis.Difficulty = number(1)
	genesis.Config.TerminalTotalDifficulty = number(int64(1 + 2*blocks))
	signers := []*ecdsa.PrivateKey{
		must(crypto.ToECDSA(bytes.Repeat([]byte{8}, 32))), must(crypto.ToECDSA(bytes.Repeat([]byte{9}, 32))),
	}
	address := func(i int) common.Address { return crypto.PubkeyToAddress(signers[i].PublicKey) }
	if address(0).Cmp(address(1)) > 0 {
		signers[0], signers[1] = signers[1], signers[0]
	}
	list := append(address(0).Bytes(), address(1).Bytes()...)
	extra := func(list []byte) []byte { return append(append(make([]byte, 32), list...), make([]byte, 65)...) }
	genesis.ExtraData = extra(list)
	engine := beacon.New(clique.New(genesis.Config.Clique, rawdb.NewMemoryDatabase()))
	_, made, _ := core.GenerateChainWithGenesis(genesis, engine, blocks+stake, func(i int, block *core.BlockGen) {
		if i >= blocks {
			block.SetPoS()
			block.SetCoinbase(common.Address{0xcb})
		} else {
			block.OffsetTime(-5)
			block.SetDifficulty(number(2))
			block.SetCoinbase(address((i + 1) % 2))
		}
		kept(genesis, block)
	})
	parent := genesis.ToBlock().Hash()
	for i, block := range made {
		header := block.Header()
		header.ParentHash = parent
		if i < blocks {
			height := i + 1
			header.Coinbase, header.Extra = common.Address{}, extra(nil)
			switch {
			case height%4 == 0:
				header.Extra = extra(list)
			case height%4 == 1:
				header.Coinbase, header.Nonce = common.Address{0xfe, byte(height)}, types.EncodeNonce(^uint64(0))
			case height%4 == 2:
				header.Coinbase = address(0)
			}
			signature := must(crypto.Sign(clique.SealHash(header).Bytes(), signers[height%2]))
			copy(header.Extra[len(header.Extra)-65:], signature)
		}
		made[i] = block.WithSeal(header)
		parent = made[i].Hash()
	}
	export(name, genesis, engine, made)
	must(0, os.WriteFile(name+"/genesis.json", must(json.MarshalIndent(genesis, "", " ")), 0o644))
}

// fixedDifficulty has a setting of Besu and Nethermind; go-ethereum takes its headers unread.
func fixedDifficulty(name string) {
	genesis := before()
	genesis.Config.Ethash = new(params.EthashConfig)
	genesis.Difficulty = number(100)
	engine := ethash.NewFullFaker()
	_, made, _ := core.GenerateChainWithGenesis(genesis, engine, 6, func(i int, block *core.BlockGen) {
		block.SetDifficulty(number(100))
		block.SetCoinbase(common.Address{0xcb})
		kept(genesis, block)
	})
	export(name, genesis, engine, made)
	text := must(json.MarshalIndent(genesis, "", " "))
	text = bytes.Replace(text, []byte(`"ethash": {}`), []byte(`"ethash": {"fixeddifficulty": 100}`), 1)
	must(0, os.WriteFile(name+"/genesis.json", text, 0o644))
}

// daoBlocks sends to drained accounts: with a wei from a contract, and with nothing.
func daoBlocks(signer func(int64) types.Signer) func(int, *core.BlockGen) {
	drained := params.DAODrainList()
	return func(i int, block *core.BlockGen) {
		height := int64(i + 1)
		send := func(to common.Address, input []byte) {
			data := &types.LegacyTx{Nonce: block.TxNonce(sender), GasPrice: number(1), Gas: 200_000, To: &to, Value: number(0), Data: input}
			block.AddTx(types.MustSignNewTx(key, signer(height), data))
		}
		if height >= 2 {
			// an account that the fork makes exist costs no gas of a new one
			send(payer, common.LeftPadBytes(drained[10+i].Bytes(), 32))
			send(drained[20+i], nil)
			send(drained[2], nil)
		}
	}
}

func main() {
	for _, c := range []struct {
		name           string
		eip150, eip158 int64
	}{{"dao", 4, 6}, {"dao-at-spurious-dragon", 3, 3}} {
		genesis := dao(c.eip150, c.eip158)
		signer := func(height int64) types.Signer {
			return types.MakeSigner(genesis.Config, number(height), 0)
		}
		write(c.name, genesis, 8, daoBlocks(signer))
	}

	authority("clique", 8, 2)
	fixedDifficulty("fixed-difficulty")

	genesis := merged(number(1337))
	genesis.BaseFee = power(70)
	excess := uint64(450_000_000)
	genesis.ExcessBlobGas, genesis.BlobGasUsed = &excess, zero()
	signer := types.LatestSigner(genesis.Config)
	write("fees", genesis, 4, func(i int, block *core.BlockGen) {
		block.SetCoinbase(common.Address{0xcb})
		f := fees{number(3), power(71), power(140)}
		if i == 2 {
			f = fees{power(131), power(150), power(140)}
		}
		everyType(signer, genesis.Config.ChainID, block, i, f)
	})

	id := sum(power(70), 5)
	genesis = merged(id)
	signer = types.LatestSigner(genesis.Config)
	write("chain-id", genesis, 3, func(i int, block *core.BlockGen) {
		block.SetCoinbase(common.Address{0xcb})
		everyType(signer, id, block, i, fees{number(3), number(5_000_000_000), number(1_000)})
	})

	genesis = merged(number(1337))
	signer = types.LatestSigner(genesis.Config)
	genesis.Config.DepositContractAddress = common.HexToAddress("0xde905175")
	contracts := []common.Address{genesis.Config.DepositContractAddress, params.MainnetChainConfig.DepositContractAddress}
	for _, contract := range contracts {
		genesis.Alloc[contract] = types.Account{Balance: number(0), Code: logging()}
	}
	write("deposits", genesis, 4, func(i int, block *core.BlockGen) {
		// in block 1 to both, in block 2 to none, in block 3 to mainnet's, in block 4 to the chain's
		for _, to := range [][]int{{0, 1, 0}, {}, {1}, {0}}[i] {
			data := &types.LegacyTx{Nonce: block.TxNonce(sender), GasPrice: number(5_000_000_000), Gas: 300_000,
				To: &contracts[to], Value: number(0), Data: deposit(byte(0x10*i + to + 1))}
			block.AddTx(types.MustSignNewTx(key, signer, data))
		}
	})
}
