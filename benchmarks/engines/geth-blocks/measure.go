package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

// batchSize is how many blocks `geth import` inserts together.
const batchSize = 2500

// column is one figure of all rows of a series.
type column struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// series is a list of rows, kept by column.
type series struct {
	Row     string   `json:"row"`
	Columns []column `json:"columns"`
}

// add appends a row.
func (s *series) add(row ...float64) {
	for i, value := range row {
		s.Columns[i].Values = append(s.Columns[i].Values, value)
	}
}

// costs are the line that a run prints: the part of a run record that it alone knows.
type costs struct {
	Version string             `json:"version"`
	Facts   map[string]float64 `json:"facts"`
	Series  []series           `json:"series"`
	Answer  map[string]string  `json:"answer"`
	Tip     struct {
		Number uint64 `json:"number"`
		Hash   string `json:"hash"`
	} `json:"tip"`
	Notes []string `json:"notes"`
}

// measure imports the whole input and prints its costs.
func measure(o options) error {
	start := time.Now()
	chain, closeChain, err := openChain(o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	runtime.GC()
	debug.FreeOSMemory()
	// the peak from here on; where the kernel does not do that it is that of the whole process
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	c := costs{Version: line(), Answer: map[string]string{}}
	c.Facts = map[string]float64{"setup_s": time.Since(start).Seconds()}
	if err := insertAll(chain, o, &c); err != nil {
		return errors.Join(err, closeChain())
	}
	head := chain.CurrentBlock()
	c.Tip.Number, c.Tip.Hash = head.Number.Uint64(), head.Hash().Hex()
	c.Answer["state_root"] = head.Root.Hex()
	if o.Try != "" {
		verdicts, err := try(chain, o.Try)
		if err != nil {
			return errors.Join(err, closeChain())
		}
		c.Answer["verdicts"] = verdicts
	}
	start = time.Now()
	if err := closeChain(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	c.Facts["close_s"] = time.Since(start).Seconds()
	c.Notes = []string{"the clock stops before the database is closed (close_s)"}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// insertAll takes batch after batch through decode and InsertChain.
func insertAll(chain *core.BlockChain, o options, c *costs) error {
	in, err := openSource(o)
	if err != nil {
		return err
	}
	chunks := series{"chunk", []column{
		{Name: "first", Unit: "block"}, {Name: "blocks"}, {Name: "end_s", Unit: "s"},
		{Name: "decode", Unit: "s"}, {Name: "insert", Unit: "s"},
	}}
	head := chain.CurrentBlock().Number.Uint64()
	user, sys := cpuSeconds()
	start := time.Now()
	for {
		t := time.Now()
		blocks, err := batch(in, batchSize)
		if err != nil {
			return err
		}
		isEnd := len(blocks) == 0
		blocks = slices.DeleteFunc(blocks, func(block *types.Block) bool {
			isBehind := o.Until != 0 && block.NumberU64() > o.Until
			isEnd = isEnd || isBehind
			return isBehind || block.NumberU64() <= head
		})
		if len(blocks) == 0 && isEnd {
			break
		}
		if len(blocks) == 0 {
			continue
		}
		decoded := lap(&t)
		if n, err := chain.InsertChain(blocks); err != nil {
			return fmt.Errorf("block %v: %w", blocks[n].Number(), err)
		}
		first, inserted := float64(blocks[0].NumberU64()), lap(&t)
		chunks.add(first, float64(len(blocks)), t.Sub(start).Seconds(), decoded, inserted)
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
	userEnd, sysEnd := cpuSeconds()
	c.Facts["wall_s"] = wall
	c.Facts["cpu_user_s"], c.Facts["cpu_sys_s"] = userEnd-user, sysEnd-sys
	c.Facts["peak_rss_bytes"] = float64(peakRSS())
	c.Facts["blocks_per_s"] = c.Facts["blocks"] / wall
	c.Facts["mgas_per_s"] = c.Facts["gas"] / 1e6 / wall
	c.Series = []series{chunks}
	return nil
}

// try tells of each block of a file whether the chain takes it behind its head. A block that is
// taken becomes the head, so one that is right stands last.
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

// lap returns the seconds since t and sets it to now.
func lap(t *time.Time) float64 {
	now := time.Now()
	seconds := now.Sub(*t).Seconds()
	*t = now
	return seconds
}

// cpuSeconds is the user and system time of this process so far.
func cpuSeconds() (user, sys float64) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0
	}
	return float64(r.Utime.Nano()) / 1e9, float64(r.Stime.Nano()) / 1e9
}

// peakRSS is the largest resident size since it was reset, in bytes, 0 where the kernel does not
// tell.
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
