package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

// dumpState writes the state of the chain's head as `geth dump --iterative` does, or, hashed, as
// `geth snapshot dump` does.
func dumpState(chain *core.BlockChain, path string, hashed bool) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	if hashed {
		err = dumpSnapshot(chain, out)
	} else {
		var statedb *state.StateDB
		if statedb, err = chain.State(); err == nil {
			statedb.IterativeDump(&state.DumpConfig{}, json.NewEncoder(out))
		}
	}
	return errors.Join(err, out.Flush(), file.Close())
}

// dumpSnapshot walks over the flat state.
func dumpSnapshot(chain *core.BlockChain, out io.Writer) error {
	root, tries, encoder := chain.CurrentBlock().Root, chain.TrieDB(), json.NewEncoder(out)
	first := struct {
		Root common.Hash `json:"root"`
	}{root}
	if err := encoder.Encode(first); err != nil {
		return err
	}
	accounts, err := tries.AccountIterator(root, common.Hash{})
	if err != nil {
		return err
	}
	defer accounts.Release()
	for accounts.Next() {
		account, err := types.FullAccount(accounts.Account())
		if err != nil {
			return err
		}
		line := &state.DumpAccount{
			Balance: account.Balance.String(), Nonce: account.Nonce, Root: account.Root.Bytes(),
			CodeHash: account.CodeHash, AddressHash: accounts.Hash().Bytes(),
			Storage: map[common.Hash]string{},
		}
		if !bytes.Equal(account.CodeHash, types.EmptyCodeHash.Bytes()) {
			line.Code = rawdb.ReadCode(chain.TrieDB().Disk(), common.BytesToHash(account.CodeHash))
		}
		slots, err := tries.StorageIterator(root, accounts.Hash(), common.Hash{})
		if err != nil {
			return err
		}
		for slots.Next() {
			line.Storage[slots.Hash()] = common.Bytes2Hex(slots.Slot())
		}
		slots.Release()
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return accounts.Error()
}

// checkDump reads a dump into the client's own type, computes every root with the client's tries,
// and prints the state root.
func checkDump(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	var first struct {
		Root common.Hash `json:"root"`
	}
	if err := decoder.Decode(&first); err != nil {
		return err
	}
	accounts, facts := trie.NewStackTrie(nil), map[string]float64{}
	for {
		var line state.DumpAccount
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		leaf, err := leafOf(&line)
		if err != nil {
			return fmt.Errorf("account %x: %w", line.AddressHash, err)
		}
		if err := accounts.Update(line.AddressHash, leaf); err != nil {
			return err
		}
		facts["accounts"]++
		facts["slots"] += float64(len(line.Storage))
	}
	root := accounts.Hash()
	if root != first.Root {
		return fmt.Errorf("expected the state root %v, found %v", first.Root, root)
	}
	answer := map[string]string{"state_root": root.Hex()}
	return measure.Line{Version: version(), Facts: facts, Answer: answer}.Print()
}

// leafOf checks an account, and encodes it as the trie of accounts has it.
func leafOf(line *state.DumpAccount) ([]byte, error) {
	balance, err := uint256.FromDecimal(line.Balance)
	if err != nil {
		return nil, err
	}
	if line.Address != nil && !bytes.Equal(crypto.Keccak256(line.Address[:]), line.AddressHash) {
		return nil, fmt.Errorf("address %v has another key", line.Address)
	}
	if found := crypto.Keccak256(line.Code); !bytes.Equal(found, line.CodeHash) {
		return nil, fmt.Errorf("expected a code with hash %x, found %x", line.CodeHash, found)
	}
	leaves := map[common.Hash][]byte{}
	for slot, digits := range line.Storage {
		key, value := slot, common.Hex2Bytes(digits)
		if line.Address != nil {
			key = crypto.Keccak256Hash(slot[:])
			if value, err = rlp.EncodeToBytes(value); err != nil {
				return nil, err
			}
		}
		leaves[key] = value
	}
	storage := trie.NewStackTrie(nil)
	for _, key := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := storage.Update(key[:], leaves[key]); err != nil {
			return nil, err
		}
	}
	root := storage.Hash()
	if !bytes.Equal(root[:], line.Root) {
		return nil, fmt.Errorf("expected the storage root %x, found %v", line.Root, root)
	}
	account := types.StateAccount{
		Nonce: line.Nonce, Balance: balance, Root: root, CodeHash: line.CodeHash,
	}
	return rlp.EncodeToBytes(&account)
}
