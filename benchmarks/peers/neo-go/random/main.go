// The program random makes a chain of random transactions with neo-go: scripts, operands, native
// calls, manifests, NEFs and witnesses that a seed draws. It writes the dump, the configuration,
// the state root after each block and what neo-go's database has under the hash of each block and
// each transaction, for a comparison entry by entry.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nspcc-dev/neo-go/pkg/config"
	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/chaindump"
	"github.com/nspcc-dev/neo-go/pkg/core/storage"
	"github.com/nspcc-dev/neo-go/pkg/io"
	"github.com/nspcc-dev/neo-go/pkg/util"
	"go.uber.org/zap"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of everything that is drawn")
	blocks := flag.Int("blocks", 20, "blocks of random transactions")
	txs := flag.Int("txs", 20, "transactions of each")
	fees := flag.Bool("fixed-fees", false, "add blocks that fix the fee of a method again")
	out := flag.String("out", "", "folder for chain.acc, chain.yml, roots.txt and logs.txt")
	flag.Parse()
	if err := run(*seed, *blocks, *txs, *fees, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// kept is a store in memory that is still there when the chain is closed.
type kept struct{ *storage.MemoryStore }

func (kept) Close() error { return nil }

func run(seed uint64, blocks, txs int, fees bool, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	m := newMaker(seed)
	path := filepath.Join(out, "chain.yml")
	if err := os.WriteFile(path, []byte(m.configuration()), 0o644); err != nil {
		return err
	}
	loaded, err := config.LoadFile(path)
	if err != nil {
		return err
	}
	settings := loaded.Blockchain()
	settings.SkipBlockVerification = true
	store := kept{storage.NewMemoryStore()}
	chain, err := core.NewBlockchain(store, settings, zap.NewNop())
	if err != nil {
		return err
	}
	go chain.Run()
	if err := m.fill(chain, blocks, txs); err != nil {
		return err
	}
	if fees {
		err := m.fixFees(func() (*core.Blockchain, error) {
			chain.Close()
			if chain, err = core.NewBlockchain(store, settings, zap.NewNop()); err == nil {
				go chain.Run()
			}
			return chain, err
		})
		if err != nil {
			return err
		}
	}
	if err := dump(chain, filepath.Join(out, "chain.acc")); err != nil {
		return err
	}
	if err := roots(chain, filepath.Join(out, "roots.txt")); err != nil {
		return err
	}
	height := chain.BlockHeight()
	hashes := make([][]util.Uint256, height+1)
	for i := range hashes {
		block, err := chain.GetBlock(chain.GetHeaderHash(uint32(i)))
		if err != nil {
			return err
		}
		hashes[i] = append(hashes[i], block.Hash())
		for _, tx := range block.Transactions {
			hashes[i] = append(hashes[i], tx.Hash())
		}
	}
	chain.Close()
	if err := logs(store, hashes, m.kinds, filepath.Join(out, "logs.txt")); err != nil {
		return err
	}
	fmt.Printf(`{"seed":%d,"blocks":%d,"transactions":%d,"faults":%d,"refused":%d}`+"\n",
		seed, height+1, m.made, m.faults, m.refused)
	return nil
}

// write gives a buffered writer of a new file to a function.
func write(path string, fill func(*bufio.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := bufio.NewWriter(file)
	if err := fill(buffer); err != nil {
		return err
	}
	return buffer.Flush()
}

func dump(chain *core.Blockchain, path string) error {
	return write(path, func(buffer *bufio.Writer) error {
		writer := io.NewBinWriterFromIO(buffer)
		count := chain.BlockHeight() + 1
		writer.WriteU32LE(count)
		return chaindump.Dump(chain, writer, 0, count)
	})
}

func roots(chain *core.Blockchain, path string) error {
	return write(path, func(buffer *bufio.Writer) error {
		for height := range chain.BlockHeight() + 1 {
			root, err := chain.GetStateModule().GetStateRoot(height)
			if err != nil {
				return err
			}
			fmt.Fprintf(buffer, "%d 0x%s\n", height, root.Root.StringLE())
		}
		return nil
	})
}

// logs writes a line for each block and each transaction: height, hash, what it is about, value.
func logs(store kept, hashes [][]util.Uint256, kinds map[util.Uint256]string, path string) error {
	return write(path, func(buffer *bufio.Writer) error {
		for height, list := range hashes {
			for i, hash := range list {
				key := append([]byte{byte(storage.DataExecutable)}, hash.BytesBE()...)
				value, err := store.Get(key)
				if errors.Is(err, storage.ErrKeyNotFound) {
					continue // no longer traceable: removed
				}
				if err != nil {
					return fmt.Errorf("%s: %w", hash.StringLE(), err)
				}
				kind := kinds[hash]
				if i == 0 {
					kind = "block"
				}
				fmt.Fprintf(buffer, "%d %s %s %x\n", height, hash.StringLE(), kind, value)
			}
		}
		return nil
	})
}
