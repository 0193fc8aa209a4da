// The program v1.17.10 imports headers through the header chain of go-ethereum v1.17.10. This
// version has no seal checks: it verifies only what comes before the seal.
package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"blockmill/geth-headers/driver"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/leveldb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
)

// Cache in MiB and open files for the key-value store.
const (
	cacheMiB = 100
	handles  = 5000
)

type chain struct {
	db      ethdb.Database
	headers *core.HeaderChain
	ancient bool // headers go to the ancient folder, not to the key-value store
}

func main() {
	handler := log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelError+1, false)
	log.SetDefault(log.NewLogger(handler))
	driver.Main(driver.Client[*types.Header]{
		Version: "v1.17.10",
		Kinds:   []string{"leveldb", "pebble", "freezer", "memory"},
		Open:    open,
	})
}

// open makes a database with the genesis block of the main network.
func open(o driver.Options) (driver.Chain[*types.Header], error) {
	db, err := openDB(o.DB, o.Dir)
	if err != nil {
		return nil, err
	}
	genesis := core.DefaultGenesisBlock()
	tries := triedb.NewDatabase(db, triedb.HashDefaults)
	if _, _, _, err := core.SetupGenesisBlock(db, tries, genesis); err != nil {
		return nil, err
	}
	c := &chain{db: db, ancient: o.DB == "freezer"}
	if c.ancient {
		block, receipts := []*types.Block{genesis.ToBlock()}, []rlp.RawValue{rlp.EmptyList}
		if _, err := rawdb.WriteAncientBlocks(db, block, receipts); err != nil {
			return nil, err
		}
	}
	engine := beacon.New(ethash.NewFaker()) // as the client itself runs on the main network
	running := func() bool { return false }
	c.headers, err = core.NewHeaderChain(db, params.MainnetChainConfig, engine, running)
	return c, err
}

func openDB(kind, dir string) (ethdb.Database, error) {
	switch kind {
	case "leveldb":
		kv, err := leveldb.New(dir, cacheMiB, handles, "", false)
		if err != nil {
			return nil, err
		}
		return rawdb.NewDatabase(kv), nil
	case "pebble", "freezer":
		kv, err := pebble.New(filepath.Join(dir, "kv"), cacheMiB, handles, "", false)
		if err != nil || kind == "pebble" {
			return rawdb.NewDatabase(kv), err
		}
		return rawdb.Open(kv, rawdb.OpenOptions{Ancient: filepath.Join(dir, "ancient")})
	default:
		return rawdb.NewMemoryDatabase(), nil
	}
}

func (c *chain) Decode(raw []byte) (*types.Header, error) {
	h := new(types.Header)
	return h, rlp.DecodeBytes(raw, h)
}

func (c *chain) Number(h *types.Header) uint64 { return h.Number.Uint64() }

func (c *chain) Warm(*types.Header) error { return nil }

func (c *chain) Validate(batch []*types.Header, _ int) (int, error) {
	return c.headers.ValidateHeaderChain(batch)
}

func (c *chain) Write(batch []*types.Header) error {
	if c.ancient {
		return c.freeze(batch)
	}
	_, err := c.headers.InsertHeaderChain(batch, time.Now())
	return err
}

// freeze stores a batch with the steps of BlockChain.InsertHeadersBeforeCutoff, which the client
// takes for headers whose bodies it does not want.
func (c *chain) freeze(batch []*types.Header) error {
	if _, err := rawdb.WriteAncientHeaderChain(c.db, batch); err != nil {
		return err
	}
	if err := c.db.SyncAncient(); err != nil {
		return err
	}
	index := c.db.NewBatch()
	for _, h := range batch {
		rawdb.WriteHeaderNumber(index, h.Hash(), h.Number.Uint64())
	}
	last := batch[len(batch)-1]
	rawdb.WriteHeadHeaderHash(index, last.Hash())
	rawdb.WriteHeadFastBlockHash(index, last.Hash())
	if err := index.Write(); err != nil {
		return err
	}
	next := last.Number.Uint64() + 1
	if _, err := c.db.TruncateTail(rawdb.ChainFreezerBlockDataGroup, next); err != nil {
		return err
	}
	c.headers.SetCurrentHeader(last)
	return nil
}

func (c *chain) Head() (uint64, string) {
	h := c.headers.CurrentHeader()
	return h.Number.Uint64(), h.Hash().Hex()
}

func (c *chain) Close() error { return c.db.Close() }
