package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"blockmill/measure"
)

// sampleEvery is how often the memory of ethereum-etl is sampled.
const sampleEvery = 50 * time.Millisecond

// digested are the columns of transactions in the digest, which is the sum of the first 8 bytes of
// the SHA-256 of each row, so that their order does not matter.
var digested = []string{
	"block_number", "transaction_index", "hash", "from_address", "to_address", "nonce", "value", "gas",
	"gas_price",
}

// run starts the node, then runs ethereum-etl and prints its costs.
func run(o options) error {
	c := measure.Line{
		Facts: map[string]float64{}, Answer: map[string]string{}, Tip: &measure.Block{},
	}
	start := time.Now()
	etl, err := load(o, &c)
	if err != nil {
		return err
	}
	c.Version = versions(etl)
	stack, head, err := serve(o)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	c.Facts["setup_s"] = time.Since(start).Seconds()
	last := head.Number.Uint64()
	blocks, transactions := filepath.Join(o.Dir, "blocks.csv"), filepath.Join(o.Dir, "transactions.csv")
	err = export(o, &c, "export_blocks_and_transactions", "--start-block", "0",
		"--end-block", strconv.FormatUint(last, 10), "--provider-uri", stack.HTTPEndpoint(),
		"--batch-size", strconv.Itoa(o.Batch), "--max-workers", strconv.Itoa(o.Workers),
		"--blocks-output", blocks, "--transactions-output", transactions)
	if err := errors.Join(err, stack.Close()); err != nil {
		return err
	}
	if err := count(&c, blocks, transactions); err != nil {
		return err
	}
	c.Notes = []string{fmt.Sprintf(
		"CPU time and memory are those of Python alone, of which %.2f s go into its start; the node took %.1f s of CPU time for its answers",
		c.Facts["start_cpu_s"], c.Facts["node_cpu_s"])}
	return c.Print()
}

// command is ethereum-etl with these arguments.
func command(o options, arguments ...string) *exec.Cmd {
	return exec.Command(filepath.Join(o.ETL, "bin", "ethereumetl"), arguments...)
}

// load asks ethereum-etl for its version, and measures the CPU time of its start.
func load(o options, c *measure.Line) (string, error) {
	asked := command(o, "--version")
	said, err := asked.Output()
	if err != nil {
		return "", fmt.Errorf("ethereumetl --version: %w", err)
	}
	user, sys := asked.ProcessState.UserTime(), asked.ProcessState.SystemTime()
	c.Facts["start_cpu_s"] = (user + sys).Seconds()
	words := strings.Fields(string(said))
	if len(words) == 0 {
		return "", errors.New("ethereumetl --version: it said nothing")
	}
	return "ethereum-etl " + words[len(words)-1], nil
}

// export runs ethereum-etl, and takes its time, and that of the node while it answers.
func export(o options, c *measure.Line, arguments ...string) error {
	var said bytes.Buffer
	running := command(o, arguments...)
	running.Stdout, running.Stderr = &said, &said
	before := cpuSeconds()
	start := time.Now()
	if err := running.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	peak, err := watch(running.Process.Pid, ended)
	c.Facts["wall_s"] = time.Since(start).Seconds()
	if err != nil {
		return fmt.Errorf("ethereumetl: %w: %s", err, lastLine(said.String()))
	}
	c.Facts["node_cpu_s"] = cpuSeconds() - before
	c.Facts["cpu_user_s"] = running.ProcessState.UserTime().Seconds()
	c.Facts["cpu_sys_s"] = running.ProcessState.SystemTime().Seconds()
	c.Facts["peak_rss_bytes"] = peak
	return nil
}

// watch waits for the end of a process; the peak of the sampled memory.
func watch(pid int, ended <-chan error) (float64, error) {
	peak := 0.0
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-tick.C:
			peak = max(peak, measure.PeakRSSOf(pid))
		}
	}
}

// count reads both tables back: how many rows they have, and which block is the last.
func count(c *measure.Line, blocks, transactions string) error {
	rows, err := eachRow(blocks, []string{"number", "hash"}, func(row []string) error {
		number, err := strconv.ParseUint(row[0], 10, 64)
		if number >= c.Tip.Number {
			c.Tip.Number, c.Tip.Hash = number, row[1]
		}
		return err
	})
	if err != nil {
		return err
	}
	all := rows
	c.Answer["rows_blocks"] = strconv.Itoa(rows)
	digest := uint64(0)
	rows, err = eachRow(transactions, digested, func(row []string) error {
		hash := sha256.Sum256([]byte(strings.Join(row, " ")))
		digest += binary.BigEndian.Uint64(hash[:])
		return nil
	})
	if err != nil {
		return err
	}
	c.Answer["rows_transactions"] = strconv.Itoa(rows)
	c.Answer["transactions_digest"] = fmt.Sprintf("0x%016x", digest)
	all += rows
	c.Facts["rows"] = float64(all)
	c.Facts["row_cpu_ns"] = (c.Facts["cpu_user_s"] + c.Facts["cpu_sys_s"]) * 1e9 / float64(all)
	for _, path := range []string{blocks, transactions} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		c.Facts["tables_bytes"] += float64(info.Size())
	}
	return nil
}

// eachRow calls f with these columns of each row of a table; how many rows there are.
func eachRow(path string, columns []string, f func([]string) error) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	places := map[string]int{}
	for i, name := range header {
		places[name] = i
	}
	for rows := 0; ; rows++ {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, fmt.Errorf("%s: %w", path, err)
		}
		row := make([]string, len(columns))
		for i, name := range columns {
			row[i] = record[places[name]]
		}
		if err := f(row); err != nil {
			return rows, fmt.Errorf("%s: %w", path, err)
		}
	}
}

// lastLine is the last line of a text that is not blank.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// cpuSeconds is the CPU time of this process so far, user and system.
func cpuSeconds() float64 {
	user, sys := measure.CPUSeconds()
	return user + sys
}
