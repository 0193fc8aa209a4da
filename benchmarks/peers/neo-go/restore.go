package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"blockmill/measure"
	"github.com/nspcc-dev/neo-go/pkg/config"
	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/block"
	"github.com/nspcc-dev/neo-go/pkg/core/chaindump"
	"github.com/nspcc-dev/neo-go/pkg/core/storage"
	"github.com/nspcc-dev/neo-go/pkg/core/storage/dbconfig"
	"github.com/nspcc-dev/neo-go/pkg/io"
	"go.uber.org/zap"
)

// restore adds every block of the dump that the database lacks, and makes the database durable.
func restore(o options) (measure.Line, error) {
	begun := time.Now()
	chain, err := open(o)
	if err != nil {
		return measure.Line{}, fmt.Errorf("open: %w", err)
	}
	setup := time.Since(begun).Seconds()
	measure.FreeMemory()

	start := time.Now()
	user, sys := measure.CPUSeconds()
	transactions, err := addBlocks(chain, o)
	if err != nil {
		chain.Close()
		return measure.Line{}, fmt.Errorf("block %d: %w", chain.BlockHeight()+1, err)
	}
	added := time.Since(start)
	addUser, addSys := measure.CPUSeconds()

	// the clock is stopped while the answer is computed
	result := measure.Line{Version: version(), Answer: map[string]string{}, Tip: last(chain)}
	root := chain.GetStateModule().CurrentLocalStateRoot()
	result.Answer["root"] = "0x" + root.StringLE()
	if o.digest {
		if result.Answer["digest"], err = digest(chain); err != nil {
			return measure.Line{}, err
		}
	}
	if o.dumpTo != "" {
		if err := dump(chain, o.dumpTo); err != nil {
			return measure.Line{}, err
		}
	}

	closing := time.Now()
	closeUser, closeSys := measure.CPUSeconds()
	chain.Close()
	if err := sync(o.dir); err != nil {
		return measure.Line{}, err
	}
	closed := time.Since(closing)
	endUser, endSys := measure.CPUSeconds()
	if o.list != "" {
		if err := list(o); err != nil {
			return measure.Line{}, err
		}
	}
	wall := (added + closed).Seconds()
	result.Facts = map[string]float64{
		"wall_s":         wall, // from the first byte read to the database durable
		"cpu_user_s":     addUser - user + endUser - closeUser,
		"cpu_sys_s":      addSys - sys + endSys - closeSys,
		"peak_rss_bytes": measure.PeakRSS(),
		"setup_s":        setup, // not part of wall_s
		"close_s":        closed.Seconds(),
		"transactions":   float64(transactions),
		"blocks_per_s":   float64(result.Tip.Number+1) / wall,
		"rps":            float64(transactions) / added.Seconds(),
		"tps":            float64(transactions) / wall,
	}
	return result, nil
}

// open opens a chain that has its first block; in a new database it is put there.
func open(o options) (*core.Blockchain, error) {
	configuration, err := config.LoadFile(o.config)
	if err != nil {
		return nil, err
	}
	settings := configuration.Blockchain()
	settings.SkipBlockVerification = !o.verify
	settings.VerifyTransactions = o.verify
	settings.KeepOnlyLatestState = o.latest
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	store, err := database(o)
	if err != nil {
		return nil, err
	}
	chain, err := core.NewBlockchain(store, settings, zap.NewNop())
	if err != nil {
		return nil, err
	}
	// writes to the database once a second, as in a node
	go chain.Run()
	return chain, nil
}

// database opens the database, or makes one.
func database(o options) (storage.Store, error) {
	path := filepath.Join(o.dir, "chain")
	return storage.NewStore(dbconfig.DBConfiguration{
		Type:           o.db,
		LevelDBOptions: dbconfig.LevelDBOptions{DataDirectoryPath: path},
		BoltDBOptions:  dbconfig.BoltDBOptions{FilePath: path},
	})
}

// list writes all entries of a database that is closed, in the order of their keys.
func list(o options) error {
	store, err := database(o)
	if err != nil {
		return err
	}
	defer store.Close()
	file, err := os.Create(o.list)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := bufio.NewWriterSize(file, 1<<20)
	store.Seek(storage.SeekRange{}, func(key, value []byte) bool {
		_, err = fmt.Fprintf(buffer, "%x %x\n", key, value)
		return err == nil
	})
	if err != nil {
		return err
	}
	return buffer.Flush()
}

// addBlocks adds the blocks of the dump that the chain lacks, and returns the number of their
// transactions.
func addBlocks(chain *core.Blockchain, o options) (int, error) {
	file, err := os.Open(o.dump)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	reader := io.NewBinReaderFromIO(bufio.NewReaderSize(file, 1<<20))
	count := reader.ReadU32LE()
	if o.until != 0 {
		count = min(count, uint32(o.until)+1)
	}
	skip := uint32(0)
	if o.goOn {
		skip = min(count, chain.BlockHeight()+1)
	}
	transactions := 0
	err = chaindump.Restore(chain, reader, skip, count-skip, func(b *block.Block) error {
		transactions += len(b.Transactions)
		return nil
	})
	return transactions, err
}

// last is the last block of the chain.
func last(chain *core.Blockchain) *measure.Block {
	height := chain.BlockHeight()
	return &measure.Block{Number: uint64(height), Hash: "0x" + chain.GetHeaderHash(height).StringLE()}
}

// dump writes the chain to a file.
func dump(chain *core.Blockchain, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := bufio.NewWriterSize(file, 1<<20)
	writer := io.NewBinWriterFromIO(buffer)
	count := chain.BlockHeight() + 1
	writer.WriteU32LE(count)
	if err := chaindump.Dump(chain, writer, 0, count); err != nil {
		return err
	}
	return buffer.Flush()
}

// sync forces all files of the database to the disk, which the client leaves to the system.
func sync(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		return file.Sync()
	})
}
