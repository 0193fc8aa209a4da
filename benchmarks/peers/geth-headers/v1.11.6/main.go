// The program v1.11.6 imports headers through the header chain of go-ethereum v1.11.6, the
// last line that checks the ethash seals.
package main

import (
	"os"
	"path/filepath"
	"time"

	"blockmill/geth-headers/driver"

	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
)

// Cache in MiB and open files for the key-value store, and the blocks of an ethash epoch.
const (
	cacheMiB = 100
	handles  = 5000
	epoch    = 30000
)

type chain struct {
	db       ethdb.Database
	headers  *core.HeaderChain
	fork     *core.ForkChoice
	engine   *ethash.Ethash
	cacheDir string
}

func main() {
	silent := log.LvlFilterHandler(log.LvlCrit, log.StreamHandler(os.Stderr, log.LogfmtFormat()))
	log.Root().SetHandler(silent)
	driver.Main(driver.Client[*types.Header]{
		Version: "v1.11.6",
		Kinds:   []string{"leveldb", "pebble", "memory"},
		Seals:   true,
		Open:    open,
	})
}

// open makes a database with the genesis block of the main network.
func open(o driver.Options) (driver.Chain[*types.Header], error) {
	db, err := openDB(o.DB, o.Dir)
	if err != nil {
		return nil, err
	}
	genesis, tries := core.DefaultGenesisBlock(), trie.NewDatabase(db)
	if _, _, err := core.SetupGenesisBlock(db, tries, genesis); err != nil {
		return nil, err
	}
	c := &chain{db: db, cacheDir: o.CacheDir}
	caches := ethash.Config{CacheDir: o.CacheDir, CachesInMem: 2, CachesOnDisk: 3}
	c.engine = ethash.New(caches, nil, false)
	running := func() bool { return false }
	c.headers, err = core.NewHeaderChain(db, params.MainnetChainConfig, c.engine, running)
	if err == nil {
		c.fork = core.NewForkChoice(c.headers, nil)
	}
	return c, err
}

func openDB(kind, dir string) (ethdb.Database, error) {
	if kind == "memory" {
		return rawdb.NewMemoryDatabase(), nil
	}
	return rawdb.Open(rawdb.OpenOptions{
		Type: kind, Directory: dir, AncientsDirectory: filepath.Join(dir, "ancient"),
		Cache: cacheMiB, Handles: handles,
	})
}

func (c *chain) Decode(raw []byte) (*types.Header, error) {
	h := new(types.Header)
	return h, rlp.DecodeBytes(raw, h)
}

func (c *chain) Number(h *types.Header) uint64 { return h.Number.Uint64() }

// Warm has the cache of the epoch on disk, and that of the next one, which the client would make
// in the background otherwise; then it checks one seal so that the cache is in memory too.
func (c *chain) Warm(h *types.Header) error {
	if err := os.MkdirAll(c.cacheDir, 0o755); err != nil {
		return err
	}
	ethash.MakeCache(h.Number.Uint64(), c.cacheDir)
	ethash.MakeCache(h.Number.Uint64()+epoch, c.cacheDir)
	return c.engine.VerifyHeader(c.headers, h, true)
}

func (c *chain) Validate(batch []*types.Header, freq int) (int, error) {
	return c.headers.ValidateHeaderChain(batch, freq)
}

func (c *chain) Write(batch []*types.Header) error {
	_, err := c.headers.InsertHeaderChain(batch, time.Now(), c.fork)
	return err
}

func (c *chain) Head() (uint64, string) {
	h := c.headers.CurrentHeader()
	return h.Number.Uint64(), h.Hash().Hex()
}

func (c *chain) Close() error {
	if err := c.engine.Close(); err != nil {
		return err
	}
	return c.db.Close()
}
