package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

// batchSize is how many blocks `geth import` inserts together.
const batchSize = 2500

// run imports the whole input, or executes all blocks with witnesses or all tests, and prints its
// costs.
func run(o options) error {
	if o.Tests != "" {
		line, err := runSuite(o)
		if err != nil {
			return err
		}
		return line.Print()
	}
	if o.Witnesses != "" {
		line, err := executeAll(o)
		if err != nil {
			return err
		}
		return line.Print()
	}
	start := time.Now()
	chain, closeChain, err := openChain(o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	measure.FreeMemory()
	measure.ResetPeakRSS()
	c := measure.Line{Version: version(), Answer: map[string]string{}}
	c.Facts = map[string]float64{"setup_s": time.Since(start).Seconds()}
	if err := insertAll(chain, o, &c); err != nil {
		return errors.Join(err, closeChain())
	}
	head := chain.CurrentBlock()
	c.Tip = &measure.Block{Number: head.Number.Uint64(), Hash: head.Hash().Hex()}
	c.Answer["state_root"] = head.Root.Hex()
	if o.Try != "" {
		verdicts, err := try(chain, o.Try)
		if err != nil {
			return errors.Join(err, closeChain())
		}
		c.Answer["verdicts"] = verdicts
	}
	if o.Flat != "" {
		if err := dumpState(chain, o.Flat, true); err != nil {
			return errors.Join(err, closeChain())
		}
	}
	if o.Dump != "" {
		if err := dumpState(chain, o.Dump, false); err != nil {
			return errors.Join(err, closeChain())
		}
	}
	start = time.Now()
	if err := closeChain(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	c.Facts["close_s"] = time.Since(start).Seconds()
	c.Notes = []string{"the clock stops before the database is closed (close_s)"}
	return c.Print()
}

// insertAll takes batch after batch through decode and InsertChain.
func insertAll(chain *core.BlockChain, o options, c *measure.Line) error {
	in, err := openSource(o)
	if err != nil {
		return err
	}
	chunks := measure.Series{Row: "chunk", Columns: []measure.Column{
		{Name: "first", Unit: "block"}, {Name: "blocks"}, {Name: "end_s", Unit: "s"},
		{Name: "check: decode", Unit: "s"}, {Name: "insert", Unit: "s"},
	}}
	head := chain.CurrentBlock().Number.Uint64()
	user, sys := measure.CPUSeconds()
	start := time.Now()
	for {
		t := time.Now()
		blocks, err := batch(in, batchSize)
		if err != nil {
			return err
		}
		isEnd := len(blocks) == 0
		blocks = slices.DeleteFunc(blocks, func(block *types.Block) bool {
			isAfter := o.Until != 0 && block.NumberU64() > o.Until
			isEnd = isEnd || isAfter
			return isAfter || block.NumberU64() <= head
		})
		if len(blocks) == 0 && isEnd {
			break
		}
		if len(blocks) == 0 {
			continue
		}
		decoded := measure.Lap(&t)
		if n, err := chain.InsertChain(blocks); err != nil {
			return fmt.Errorf("block %v: %w", blocks[n].Number(), err)
		}
		first, inserted := float64(blocks[0].NumberU64()), measure.Lap(&t)
		chunks.Add(first, float64(len(blocks)), t.Sub(start).Seconds(), decoded, inserted)
		for _, block := range blocks {
			c.Facts["transactions"] += float64(len(block.Transactions()))
			c.Facts["gas"] += float64(block.GasUsed())
			c.Facts["blocks"]++
		}
	}
	wall := time.Since(start).Seconds()
	if c.Facts["blocks"] == 0 {
		return errors.New("no blocks in the input")
	}
	userEnd, sysEnd := measure.CPUSeconds()
	c.Facts["wall_s"] = wall
	c.Facts["cpu_user_s"], c.Facts["cpu_sys_s"] = userEnd-user, sysEnd-sys
	c.Facts["peak_rss_bytes"] = measure.PeakRSS()
	c.Facts["blocks_per_s"] = c.Facts["blocks"] / wall
	c.Facts["mgas_per_s"] = c.Facts["gas"] / 1e6 / wall
	c.Series = []measure.Series{chunks}
	return nil
}

// try reports for each block of a file whether the chain accepts it on its head. An accepted block
// becomes the head, so a valid block comes last in the file.
func try(chain *core.BlockChain, path string) (string, error) {
	in, err := openExport(path)
	if err != nil {
		return "", err
	}
	blocks, err := batch(in, 1<<20)
	if err != nil {
		return "", err
	}
	verdicts := []string{}
	for _, block := range blocks {
		verdict := "taken"
		if _, err := chain.InsertChain([]*types.Block{block}); err != nil {
			verdict = "refused"
		}
		verdicts = append(verdicts, verdict)
	}
	return strings.Join(verdicts, " "), nil
}
