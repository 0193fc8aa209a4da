package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
	"github.com/holiman/uint256"
)

// together is how many slots are committed at once. The client takes a genesis state as a whole,
// and ten million slots need more memory so than the machine has.
const together = 500_000

// writeGenesis writes the genesis block of a genesis.json and its state into an empty database, as
// core.Genesis.Commit does, but in parts.
func writeGenesis(o options, db ethdb.Database) error {
	path := o.Genesis
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	config := *pathdb.Defaults
	config.WriteBufferSize = dirtyMiB << 20
	tries := triedb.NewDatabase(db, &triedb.Config{PathDB: &config, Preimages: o.Dump != ""})
	w := &stateWriter{tries: tries, root: types.EmptyRootHash}
	if err := w.begin(); err != nil {
		return err
	}
	genesis, err := w.readGenesis(json.NewDecoder(bufio.NewReaderSize(file, 1<<20)))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.commit(); err != nil {
		return err
	}
	empty := genesis.ToBlock()
	header := empty.Header()
	header.Root = w.root
	block := types.NewBlockWithHeader(header).WithBody(*empty.Body())
	batch := db.NewBatch()
	rawdb.WriteGenesisStateSpec(batch, block.Hash(), []byte("{}"))
	rawdb.WriteBlock(batch, block)
	rawdb.WriteReceipts(batch, block.Hash(), 0, nil)
	rawdb.WriteCanonicalHash(batch, block.Hash(), 0)
	rawdb.WriteHeadBlockHash(batch, block.Hash())
	rawdb.WriteHeadFastBlockHash(batch, block.Hash())
	rawdb.WriteHeadHeaderHash(batch, block.Hash())
	rawdb.WriteChainConfig(batch, block.Hash(), genesis.Config)
	return errors.Join(batch.Write(), tries.Close())
}

// stateWriter writes a state in parts.
type stateWriter struct {
	tries *triedb.Database
	root  common.Hash
	state *state.StateDB
	count int
}

func (w *stateWriter) begin() (err error) {
	w.count = 0
	w.state, err = state.New(w.root, state.NewDatabase(w.tries, nil))
	return err
}

// add counts a slot, and commits where there are enough.
func (w *stateWriter) add() error {
	if w.count++; w.count < together {
		return nil
	}
	return w.commit()
}

func (w *stateWriter) commit() error {
	root, err := w.state.Commit(params.Rules{}, 0)
	if err != nil {
		return err
	}
	if root != w.root {
		if err := w.tries.Commit(root, false); err != nil {
			return err
		}
	}
	w.root = root
	return w.begin()
}

// readGenesis reads a genesis.json without its accounts, which go into the state.
func (w *stateWriter) readGenesis(in *json.Decoder) (*core.Genesis, error) {
	fields := map[string]json.RawMessage{}
	err := object(in, func(key string) error {
		if key != "alloc" {
			return field(in, key, fields)
		}
		return object(in, func(address string) error {
			return w.readAccount(in, common.HexToAddress(address))
		})
	})
	if err != nil {
		return nil, err
	}
	fields["alloc"] = json.RawMessage("{}")
	genesis := new(core.Genesis)
	return genesis, filled(fields, genesis)
}

func (w *stateWriter) readAccount(in *json.Decoder, address common.Address) error {
	fields := map[string]json.RawMessage{}
	err := object(in, func(key string) error {
		if key != "storage" {
			return field(in, key, fields)
		}
		return object(in, func(slot string) error {
			var value string
			if err := in.Decode(&value); err != nil {
				return err
			}
			w.state.SetState(address, common.HexToHash(slot), common.HexToHash(value))
			return w.add()
		})
	})
	if err != nil {
		return err
	}
	var account types.Account
	if err := filled(fields, &account); err != nil {
		return err
	}
	if account.Balance != nil {
		balance := uint256.MustFromBig(account.Balance)
		w.state.AddBalance(address, balance, tracing.BalanceIncreaseGenesisBalance)
	}
	w.state.SetCode(address, account.Code, tracing.CodeChangeGenesis)
	w.state.SetNonce(address, account.Nonce, tracing.NonceChangeGenesis)
	return w.add()
}

// object reads an object, of which each reads the values.
func object(in *json.Decoder, each func(key string) error) error {
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(err, fmt.Errorf("at byte %d: expected an object", in.InputOffset()))
	}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// field keeps a value as it is written.
func field(in *json.Decoder, key string, fields map[string]json.RawMessage) error {
	var value json.RawMessage
	err := in.Decode(&value)
	fields[key] = value
	return err
}

// filled reads fields into what has them.
func filled(fields map[string]json.RawMessage, into any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
