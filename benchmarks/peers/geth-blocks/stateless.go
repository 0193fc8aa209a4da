package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/stateless"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

// chains are the public networks by chain id.
var chains = map[string]*params.ChainConfig{
	"1": params.MainnetChainConfig, "560048": params.HoodiChainConfig,
	"11155111": params.SepoliaChainConfig,
}

// encoded is a block with its witness, as RLP.
type encoded struct {
	config         *params.ChainConfig
	block, witness []byte
}

// executed is what came of a block, with the seconds that it took.
type executed struct {
	number, gas     uint64
	root            common.Hash
	decode, execute float64
	err             error
}

// executeAll executes the blocks of a folder with their witnesses.
func executeAll(o options) (measure.Line, error) {
	line := measure.Line{Version: version()}
	start := time.Now()
	blocks, err := encodedIn(o.Witnesses)
	if err != nil {
		return line, err
	}
	line.Facts = map[string]float64{"setup_s": time.Since(start).Seconds()}
	user, sys := measure.CPUSeconds()
	start = time.Now()
	var all [][]executed
	for range o.Rounds {
		all = append(all, round(blocks, o.Threads))
	}
	wall := time.Since(start).Seconds()
	userEnd, sysEnd := measure.CPUSeconds()
	var roots []byte
	gas := 0.0
	for _, one := range all[0] {
		if one.err != nil {
			return line, one.err
		}
		roots = append(roots, one.root[:]...)
		gas += float64(one.gas * uint64(o.Rounds))
	}
	line.Facts["wall_s"] = wall
	line.Facts["cpu_user_s"], line.Facts["cpu_sys_s"] = userEnd-user, sysEnd-sys
	line.Facts["peak_rss_bytes"] = measure.PeakRSS()
	line.Facts["blocks"] = float64(len(blocks) * o.Rounds)
	line.Facts["gas"] = gas
	line.Facts["mgas_per_s"] = gas / 1e6 / wall
	line.Answer = map[string]string{"state_roots": crypto.Keccak256Hash(roots).Hex()}
	line.Series = []measure.Series{times(all)}
	return line, nil
}

// encodedIn reads the files CHAIN-PLACE.block.rlp and CHAIN-PLACE.witness.rlp of a folder, in the
// order of their places.
func encodedIn(folder string) ([]encoded, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.block.rlp"))
	if err != nil {
		return nil, err
	}
	place := func(name string) int {
		_, text, _ := strings.Cut(filepath.Base(name), "-")
		number, _ := strconv.Atoi(strings.TrimSuffix(text, ".block.rlp"))
		return number
	}
	slices.SortFunc(names, func(a, b string) int { return place(a) - place(b) })
	var all []encoded
	for _, name := range names {
		chain, _, _ := strings.Cut(filepath.Base(name), "-")
		config := chains[chain]
		if config == nil {
			return nil, fmt.Errorf("%s: chain %s is not known", name, chain)
		}
		block, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		witness, err := os.ReadFile(strings.TrimSuffix(name, "block.rlp") + "witness.rlp")
		if err != nil {
			return nil, err
		}
		all = append(all, encoded{config, block, witness})
	}
	if len(all) == 0 {
		return nil, errors.New("no blocks in the folder")
	}
	return all, nil
}

// round executes each block once.
func round(blocks []encoded, threads int) []executed {
	done := make([]executed, len(blocks))
	var next atomic.Int64
	var group sync.WaitGroup
	for range threads {
		group.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(blocks); at = int(next.Add(1)) - 1 {
				done[at] = blocks[at].run()
			}
		})
	}
	group.Wait()
	return done
}

// run executes a block, and compares its roots with the header.
func (e encoded) run() (done executed) {
	t := time.Now()
	var block types.Block
	if done.err = rlp.DecodeBytes(e.block, &block); done.err != nil {
		return done
	}
	var witness stateless.Witness
	if done.err = rlp.Decode(bytes.NewReader(e.witness), &witness); done.err != nil {
		return done
	}
	done.decode = measure.Lap(&t)
	done.number, done.gas = block.NumberU64(), block.GasUsed()
	// the roots are what the execution has to find
	header := types.CopyHeader(block.Header())
	header.Root, header.ReceiptHash = common.Hash{}, common.Hash{}
	bare := block.WithSeal(header)
	root, receipts, err := core.ExecuteStateless(context.Background(), e.config, vm.Config{}, bare, &witness)
	switch {
	case err != nil:
		done.err = fmt.Errorf("block %d: %w", done.number, err)
	case root != block.Root():
		done.err = fmt.Errorf("block %d: state root %x, expected %x", done.number, root, block.Root())
	case receipts != block.ReceiptHash():
		done.err = fmt.Errorf("block %d: receipts root %x, expected %x", done.number, receipts, block.ReceiptHash())
	}
	done.execute, done.root = measure.Lap(&t), root
	return done
}

// times are the times of each block: medians of the rounds.
func times(rounds [][]executed) measure.Series {
	series := measure.Series{Row: "block", Columns: []measure.Column{
		{Name: "first", Unit: "block"}, {Name: "blocks"}, {Name: "gas"},
		{Name: "decode", Unit: "s"}, {Name: "execute", Unit: "s"},
	}}
	median := func(values []float64) float64 {
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	for at, block := range rounds[0] {
		var decode, execute []float64
		for _, round := range rounds {
			decode, execute = append(decode, round[at].decode), append(execute, round[at].execute)
		}
		series.Add(float64(block.number), 1, float64(block.gas), median(decode), median(execute))
	}
	return series
}
