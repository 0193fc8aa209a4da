package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// columns of the series of batches, in the order in which they are printed.
const (
	first = iota
	blocks
	end // when the batch was written, counted like wall_s
	decode
	validation
	write
)

// column is one figure of all batches.
type column struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// series is a list of rows, kept by column.
type series struct {
	Row     string    `json:"row"`
	Columns [6]column `json:"columns"`
}

// block is a block by its number and hash.
type block struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// costs are the line that a run prints: the part of a run record that it alone knows. Times are
// seconds; setup_s comes before wall_s and is not part of it.
type costs struct {
	Version string             `json:"version"`
	Facts   map[string]float64 `json:"facts"`
	Series  [1]series          `json:"series"`
	Tip     block              `json:"tip"`
	Notes   []string           `json:"notes"`
}

// measure imports the whole input and prints its costs.
func measure[H any](client Client[H], o Options) error {
	t := time.Now()
	chain, err := client.Open(o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if o.Freq > 0 {
		if err := warm(chain, o); err != nil {
			return errors.Join(err, chain.Close())
		}
	}
	setup := lap(&t)
	runtime.GC()
	debug.FreeOSMemory()

	start := time.Now()
	user, sys := cpuSeconds()
	chunks, err := importAll(chain, o, start)
	if err != nil {
		return errors.Join(err, chain.Close())
	}
	var tip block
	tip.Number, tip.Hash = chain.Head()
	t = time.Now()
	if err := chain.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	closed := lap(&t)
	wall := time.Since(start).Seconds()
	userEnd, sysEnd := cpuSeconds()
	sum := costs{Version: client.line(), Series: [1]series{chunks}, Tip: tip}
	sum.Facts = map[string]float64{
		"wall_s": wall, // from the first byte read to the database closed
		// of all threads, within wall_s
		"cpu_user_s": userEnd - user, "cpu_sys_s": sysEnd - sys,
		"peak_rss_bytes": float64(peakRSS()),
		"setup_s":        setup,
		"close_s":        closed,
		"blocks_per_s":   chunks.sum(blocks) / wall,
	}
	sum.Notes = []string{"decode includes reading and decompressing"}
	if o.Freq > 0 {
		sum.seals(o.Freq)
	}
	return json.NewEncoder(os.Stdout).Encode(sum)
}

// seals counts the seals that were checked. The client draws its own sample in each batch and does
// not tell its size, which is at least this.
func (c *costs) seals(freq int) {
	for _, headers := range c.Series[0].Columns[blocks].Values {
		c.Facts["seals"] += float64(int(headers) / freq)
	}
	if freq > 1 {
		c.Notes = append(c.Notes,
			"the number of seals is the least: the last header of a batch comes on top")
	}
}

// newSeries has no batches yet.
func newSeries() series {
	return series{"chunk", [6]column{
		first: {Name: "first", Unit: "block"}, blocks: {Name: "blocks"}, end: {Name: "end_s", Unit: "s"},
		decode: {Name: "decode", Unit: "s"}, validation: {Name: "validation", Unit: "s"},
		write: {Name: "write", Unit: "s"},
	}}
}

// add appends a batch.
func (s *series) add(chunk [6]float64) {
	for i, value := range chunk {
		s.Columns[i].Values = append(s.Columns[i].Values, value)
	}
}

// sum is that of a column.
func (s *series) sum(column int) (sum float64) {
	for _, value := range s.Columns[column].Values {
		sum += value
	}
	return sum
}

// importAll takes batch after batch through decode, validate and write.
func importAll[H any](chain Chain[H], o Options, start time.Time) (series, error) {
	in := newSource(o)
	defer in.Close()
	chunks, headers := newSeries(), 0
	for {
		var c [6]float64
		t := time.Now()
		batch, err := readBatch(chain, in, o.Chunk)
		if err != nil {
			return chunks, shift(err, headers)
		}
		c[decode] = lap(&t)
		if len(batch) == 0 && headers == 0 {
			return chunks, errors.New("no headers in the input")
		}
		if len(batch) == 0 {
			return chunks, nil
		}
		if n, err := chain.Validate(batch, o.Freq); err != nil {
			return chunks, &failure{Stage: "validate", Index: headers + n, Err: err}
		}
		c[validation] = lap(&t)
		if err := chain.Write(batch); err != nil {
			return chunks, &failure{Stage: "write", Index: headers, Err: err}
		}
		c[write] = lap(&t)
		c[end] = t.Sub(start).Seconds()
		c[first], c[blocks] = float64(chain.Number(batch[0])), float64(len(batch))
		chunks.add(c)
		headers += len(batch)
	}
}

// warm prepares the seal checks for the first header of the input.
func warm[H any](chain Chain[H], o Options) error {
	in := newSource(o)
	defer in.Close()
	first, err := readBatch(chain, in, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	if err := chain.Warm(first[0]); err != nil {
		return &failure{Stage: "validate", Index: 0, Err: err}
	}
	return nil
}

// shift moves a position within a batch to one within the input.
func shift(err error, before int) error {
	var at *failure
	if errors.As(err, &at) {
		at.Index += before
	}
	return err
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
