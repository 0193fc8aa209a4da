package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// The block in which programs run, as blockmill's kind evm has it.
const (
	number   = 1_000
	blockGas = 60_000_000
	txGas    = 16_000_000
	blockAt  = 1_700_000_000
)

var (
	sender      = common.HexToAddress("0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e")
	beneficiary = common.HexToAddress("0xbebebebebebebebebebebebebebebebebebebebe")
)

// machine is go-ethereum's over the accounts of a genesis.json.
type machine struct {
	evm   *vm.EVM
	state *state.StateDB
}

func newMachine(path string) (*machine, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	genesis := new(core.Genesis)
	if err := json.NewDecoder(bufio.NewReaderSize(file, 1<<20)).Decode(genesis); err != nil {
		return nil, fmt.Errorf("genesis.json: %w", err)
	}
	statedb, err := stateOf(genesis.Alloc)
	if err != nil {
		return nil, err
	}
	context := vm.BlockContext{
		CanTransfer:      core.CanTransfer,
		Transfer:         core.Transfer,
		GetHash:          func(n uint64) common.Hash { return common.BigToHash(new(big.Int).SetUint64(n)) },
		Coinbase:         beneficiary,
		BlockNumber:      big.NewInt(number),
		Time:             blockAt,
		Difficulty:       big.NewInt(131_072),
		GasLimit:         blockGas,
		BaseFee:          new(big.Int),
		BlobBaseFee:      big.NewInt(1),
		CostPerStateByte: params.CostPerStateByte,
	}
	if genesis.Config.TerminalTotalDifficulty != nil {
		context.Difficulty, context.Random = new(big.Int), new(common.Hash)
	}
	return &machine{vm.NewEVM(context, statedb, genesis.Config, vm.Config{}), statedb}, nil
}

// stateOf is a state in memory with these accounts.
func stateOf(alloc types.GenesisAlloc) (*state.StateDB, error) {
	db := state.NewDatabaseForTesting()
	statedb, err := state.New(types.EmptyRootHash, db)
	if err != nil {
		return nil, err
	}
	for address, account := range alloc {
		balance, _ := uint256.FromBig(account.Balance)
		statedb.SetBalance(address, balance, tracing.BalanceIncreaseGenesisBalance)
		statedb.SetNonce(address, account.Nonce, tracing.NonceChangeGenesis)
		if len(account.Code) > 0 {
			statedb.SetCode(address, account.Code, tracing.CodeChangeGenesis)
		}
		for key, value := range account.Storage {
			statedb.SetState(address, key, value)
		}
	}
	root, err := statedb.Commit(params.Rules{}, 0)
	if err != nil {
		return nil, err
	}
	return state.New(root, db)
}

// run executes a program, tells how long that took, and leaves the state as it was. What the
// program read stays in the caches of the StateDB.
func (m *machine) run(p *program) (time.Duration, error) {
	message := &core.Message{
		To: &p.address, From: sender, Value: new(uint256.Int), GasLimit: txGas, Data: p.data,
		GasPrice: new(uint256.Int), GasFeeCap: new(uint256.Int), GasTipCap: new(uint256.Int),
	}
	for i := byte(0); i < p.Blobs; i++ {
		hash := crypto.Keccak256Hash([]byte{i})
		hash[0] = 1
		message.BlobHashes = append(message.BlobHashes, hash)
		message.BlobGasFeeCap = uint256.NewInt(1)
	}
	before := m.state.Snapshot()
	start := time.Now()
	result, err := core.ApplyMessage(m.evm, message, core.NewGasPool(blockGas))
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	m.state.RevertToSnapshot(before)
	switch {
	case result.Err != nil:
		return 0, result.Err
	case result.UsedGas != p.GasUsed:
		return 0, fmt.Errorf("expected %d gas, found %d", p.GasUsed, result.UsedGas)
	}
	return took, nil
}
