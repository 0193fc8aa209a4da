package driver

import (
	"errors"
	"fmt"
	"time"

	"blockmill/measure"
)

// columns of the series of batches, in the order in which they are printed.
const (
	first = iota
	blocks
	end // when the batch was written, counted like wall_s
	decode
	verify
	write
)

// run imports the whole input and prints its costs. setup_s comes before wall_s and is not part of
// it.
func run[H any](client Client[H], o Options) error {
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
	setup := measure.Lap(&t)
	measure.FreeMemory()

	start := time.Now()
	user, sys := measure.CPUSeconds()
	chunks, err := importAll(chain, o, start)
	if err != nil {
		return errors.Join(err, chain.Close())
	}
	var tip measure.Block
	tip.Number, tip.Hash = chain.Head()
	t = time.Now()
	if err := chain.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	closed := measure.Lap(&t)
	wall := time.Since(start).Seconds()
	userEnd, sysEnd := measure.CPUSeconds()
	line := measure.Line{Version: client.version(), Series: []measure.Series{chunks}, Tip: &tip}
	line.Facts = map[string]float64{
		"wall_s": wall, // from the first byte read to the database closed
		// of all threads, within wall_s
		"cpu_user_s": userEnd - user, "cpu_sys_s": sysEnd - sys,
		"peak_rss_bytes": measure.PeakRSS(),
		"setup_s":        setup,
		"close_s":        closed,
		"blocks_per_s":   chunks.Sum(blocks) / wall,
	}
	line.Notes = []string{"decode includes reading and decompressing"}
	if o.Freq > 0 {
		countSeals(&line, o.Freq)
	}
	return line.Print()
}

// countSeals counts the seals that were checked. The client draws its own sample in each batch and
// does not report its size, which is at least this.
func countSeals(c *measure.Line, freq int) {
	for _, headers := range c.Series[0].Columns[blocks].Values {
		c.Facts["seals"] += float64(int(headers) / freq)
	}
	if freq > 1 {
		c.Notes = append(c.Notes,
			"the number of seals is the least: the last header of a batch comes on top")
	}
}

// newSeries has no batches yet.
func newSeries() measure.Series {
	return measure.Series{Row: "chunk", Columns: []measure.Column{
		first: {Name: "first", Unit: "block"}, blocks: {Name: "blocks"}, end: {Name: "end_s", Unit: "s"},
		decode: {Name: "check: decode", Unit: "s"}, verify: {Name: "check: verify", Unit: "s"},
		write: {Name: "write", Unit: "s"},
	}}
}

// importAll takes batch after batch through decode, validate and write.
func importAll[H any](chain Chain[H], o Options, start time.Time) (measure.Series, error) {
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
		c[decode] = measure.Lap(&t)
		if len(batch) == 0 && headers == 0 {
			return chunks, errors.New("no headers in the input")
		}
		if len(batch) == 0 {
			return chunks, nil
		}
		if n, err := chain.Validate(batch, o.Freq); err != nil {
			return chunks, &failure{Stage: "validate", Index: headers + n, Err: err}
		}
		c[verify] = measure.Lap(&t)
		if err := chain.Write(batch); err != nil {
			return chunks, &failure{Stage: "write", Index: headers, Err: err}
		}
		c[write] = measure.Lap(&t)
		c[end] = t.Sub(start).Seconds()
		c[first], c[blocks] = float64(chain.Number(batch[0])), float64(len(batch))
		chunks.Add(c[:]...)
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
