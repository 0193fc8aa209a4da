package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
)

// What `geth import --cache 2048` gives to its parts, in MiB: half to the database, 15 % to clean
// trie nodes, a quarter to dirty ones, 10 % to the flat state.
const (
	databaseMiB = 1024
	cleanMiB    = 307
	dirtyMiB    = 512
	flatMiB     = 204
	handles     = 2048
)

// openChain makes a database with the genesis state and opens it again, so that the import begins
// with the state on disk.
func openChain(o options) (*core.BlockChain, func() error, error) {
	genesis, err := readGenesis(o.Genesis)
	if err != nil {
		return nil, nil, err
	}
	// a large genesis is many times as large in memory, and twice that with its garbage
	percent := debug.SetGCPercent(20)
	_, closeChain, err := openDatabase(o, genesis)
	if err != nil {
		return nil, nil, err
	}
	if err := closeChain(); err != nil {
		return nil, nil, err
	}
	debug.SetGCPercent(percent)
	debug.FreeOSMemory()
	return openDatabase(o, genesis)
}

func readGenesis(path string) (*core.Genesis, error) {
	if path == "mainnet" {
		return core.DefaultGenesisBlock(), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	genesis := new(core.Genesis)
	return genesis, json.NewDecoder(bufio.NewReaderSize(file, 1<<20)).Decode(genesis)
}

func openDatabase(o options, genesis *core.Genesis) (*core.BlockChain, func() error, error) {
	path := filepath.Join(o.Dir, "chaindata")
	kv, err := pebble.New(path, databaseMiB, handles, "", false)
	if err != nil {
		return nil, nil, err
	}
	db, err := rawdb.Open(kv, rawdb.OpenOptions{Ancient: filepath.Join(path, "ancient")})
	if err != nil {
		return nil, nil, err
	}
	config := core.DefaultConfig().WithStateScheme(rawdb.PathScheme)
	config.TrieCleanLimit, config.TrieDirtyLimit, config.SnapshotLimit = cleanMiB, dirtyMiB, flatMiB
	config.TrieJournalDirectory = filepath.Join(o.Dir, "triedb")
	config.StateHistory = 90_000
	config.TxLookupLimit = 2_350_000
	config.TrienodeHistory = -1
	config.NoPrefetch = !o.Prefetch
	chain, err := core.NewBlockChain(db, genesis, beacon.New(ethash.NewFaker()), config)
	if err != nil {
		return nil, nil, err
	}
	return chain, func() error { chain.Stop(); return db.Close() }, nil
}
