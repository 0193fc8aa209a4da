package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/ethdb"
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
// with the state on disk. One that is there has its genesis already.
func openChain(o options) (*core.BlockChain, func() error, error) {
	if _, err := os.Stat(databasePath(o)); err == nil {
		return openDatabase(o)
	}
	// a large genesis is many times as large in memory, and twice that with its garbage
	percent := debug.SetGCPercent(20)
	if err := makeDatabase(o); err != nil {
		return nil, nil, err
	}
	debug.SetGCPercent(percent)
	debug.FreeOSMemory()
	return openDatabase(o)
}

func makeDatabase(o options) error {
	db, err := openStore(o)
	if err != nil {
		return err
	}
	if o.Genesis != "mainnet" {
		return errors.Join(writeGenesis(o, db), db.Close())
	}
	config := core.DefaultConfig().WithStateScheme(rawdb.PathScheme)
	engine := beacon.New(ethash.NewFaker())
	chain, err := core.NewBlockChain(db, core.DefaultGenesisBlock(), engine, config)
	if err == nil {
		chain.Stop()
	}
	return errors.Join(err, db.Close())
}

func databasePath(o options) string { return filepath.Join(o.Dir, "chaindata") }

func openStore(o options) (ethdb.Database, error) {
	path := databasePath(o)
	kv, err := pebble.New(path, databaseMiB, handles, "", false)
	if err != nil {
		return nil, err
	}
	return rawdb.Open(kv, rawdb.OpenOptions{Ancient: filepath.Join(path, "ancient")})
}

func openDatabase(o options) (*core.BlockChain, func() error, error) {
	db, err := openStore(o)
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
	config.Preimages = o.Dump != ""
	chain, err := core.NewBlockChain(db, nil, beacon.New(ethash.NewFaker()), config)
	if err != nil {
		return nil, nil, err
	}
	return chain, func() error { chain.Stop(); return db.Close() }, nil
}
