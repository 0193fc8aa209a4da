package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/nspcc-dev/neo-go/pkg/config"
	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/block"
	"github.com/nspcc-dev/neo-go/pkg/core/chaindump"
	"github.com/nspcc-dev/neo-go/pkg/core/storage"
	"github.com/nspcc-dev/neo-go/pkg/core/storage/dbconfig"
	"github.com/nspcc-dev/neo-go/pkg/io"
	"go.uber.org/zap"
)

// restore takes every block of the dump that the database lacks into it and leaves it durable.
func restore(o options) (line, error) {
	begun := time.Now()
	chain, err := open(o)
	if err != nil {
		return line{}, fmt.Errorf("open: %w", err)
	}
	setup := time.Since(begun).Seconds()
	runtime.GC()
	debug.FreeOSMemory()

	start := time.Now()
	user, sys := cpuSeconds()
	transactions, err := addBlocks(chain, o)
	if err != nil {
		chain.Close()
		return line{}, fmt.Errorf("block %d: %w", chain.BlockHeight()+1, err)
	}
	added := time.Since(start)
	addUser, addSys := cpuSeconds()

	// the clock stands still while others look at what is there
	result := line{Version: version(), Answer: map[string]string{}, Tip: last(chain), Notes: []string{}}
	root := chain.GetStateModule().CurrentLocalStateRoot()
	result.Answer["root"] = "0x" + root.StringLE()
	if o.digest {
		if result.Answer["digest"], err = digest(chain); err != nil {
			return line{}, err
		}
	}
	if o.dumpTo != "" {
		if err := dump(chain, o.dumpTo); err != nil {
			return line{}, err
		}
	}

	closing := time.Now()
	closeUser, closeSys := cpuSeconds()
	chain.Close()
	if err := sync(o.dir); err != nil {
		return line{}, err
	}
	closed := time.Since(closing)
	endUser, endSys := cpuSeconds()
	if o.list != "" {
		if err := list(o); err != nil {
			return line{}, err
		}
	}
	wall := (added + closed).Seconds()
	result.Facts = map[string]float64{
		"wall_s":         wall, // from the first byte read to the database durable
		"cpu_user_s":     addUser - user + endUser - closeUser,
		"cpu_sys_s":      addSys - sys + endSys - closeSys,
		"peak_rss_bytes": float64(peakRSS()),
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

// addBlocks gives the blocks of the dump that it lacks to the chain and returns the number of their
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
func last(chain *core.Blockchain) tip {
	height := chain.BlockHeight()
	return tip{height, "0x" + chain.GetHeaderHash(height).StringLE()}
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

// cpuSeconds is the user and system time of this process so far.
func cpuSeconds() (user, sys float64) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0
	}
	return float64(r.Utime.Nano()) / 1e9, float64(r.Stime.Nano()) / 1e9
}

// peakRSS is the largest resident size so far in bytes, 0 where the kernel does not tell. It is
// VmHWM because the maximum of getrusage begins with the size of the parent at the fork.
func peakRSS() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
