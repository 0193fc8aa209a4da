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

// chunkCost is what one batch cost, in seconds.
type chunkCost struct {
	First    uint64  `json:"first"`
	Count    int     `json:"count"`
	Decode   float64 `json:"decode_s"`
	Validate float64 `json:"validate_s"`
	Write    float64 `json:"write_s"`
	End      float64 `json:"end_s"` // when the batch was written, counted like wall_s
}

// costs is the line that a run prints. Times are seconds; what comes before wall_s in the run
// (open_s, cache_warm_s) is not part of it.
type costs struct {
	Client    string      `json:"client"`
	Go        string      `json:"go"`
	DB        string      `json:"db"`
	Chunk     int         `json:"chunk"`
	Freq      int         `json:"freq"`
	Headers   int         `json:"headers"`
	Open      float64     `json:"open_s"`
	CacheWarm float64     `json:"cache_warm_s"`
	Decode    float64     `json:"decode_s"`
	Validate  float64     `json:"validate_s"`
	Write     float64     `json:"write_s"`
	Close     float64     `json:"close_s"`
	Whole     float64     `json:"whole_s"`    // decode + validate + write
	Wall      float64     `json:"wall_s"`     // from the first byte read to the database closed
	CPUUser   float64     `json:"cpu_user_s"` // of all threads, within wall_s
	CPUSys    float64     `json:"cpu_sys_s"`
	PeakRSS   uint64      `json:"peak_rss_bytes"`
	Head      uint64      `json:"head"`
	HeadHash  string      `json:"head_hash"`
	Chunks    []chunkCost `json:"chunks"`
}

// measure imports the whole input and prints its costs.
func measure[H any](client Client[H], o Options) error {
	sum := costs{Client: client.Version, Go: runtime.Version(), DB: o.DB, Chunk: o.Chunk, Freq: o.Freq}
	t := time.Now()
	chain, err := client.Open(o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	sum.Open = lap(&t)
	if o.Freq > 0 {
		if err := warm(chain, o); err != nil {
			return errors.Join(err, chain.Close())
		}
		sum.CacheWarm = lap(&t)
	}
	runtime.GC()
	debug.FreeOSMemory()

	start := time.Now()
	user, sys := cpuSeconds()
	if err := importAll(chain, o, start, &sum); err != nil {
		return errors.Join(err, chain.Close())
	}
	sum.Head, sum.HeadHash = chain.Head()
	t = time.Now()
	if err := chain.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	sum.Close = lap(&t)
	sum.Wall = time.Since(start).Seconds()
	userEnd, sysEnd := cpuSeconds()
	sum.CPUUser, sum.CPUSys = userEnd-user, sysEnd-sys
	sum.Whole = sum.Decode + sum.Validate + sum.Write
	sum.PeakRSS = peakRSS()
	return json.NewEncoder(os.Stdout).Encode(sum)
}

// importAll takes batch after batch through decode, validate and write.
func importAll[H any](chain Chain[H], o Options, start time.Time, sum *costs) error {
	in := newSource(o)
	defer in.Close()
	for {
		var c chunkCost
		t := time.Now()
		batch, err := readBatch(chain, in, o.Chunk)
		if err != nil {
			return shift(err, sum.Headers)
		}
		c.Decode = lap(&t)
		sum.Decode += c.Decode
		if len(batch) == 0 {
			return nil
		}
		if n, err := chain.Validate(batch, o.Freq); err != nil {
			return &failure{Stage: "validate", Index: sum.Headers + n, Err: err}
		}
		c.Validate = lap(&t)
		if err := chain.Write(batch); err != nil {
			return &failure{Stage: "write", Index: sum.Headers, Err: err}
		}
		c.Write = lap(&t)
		c.End = t.Sub(start).Seconds()
		c.First, c.Count = chain.Number(batch[0]), len(batch)
		sum.Headers += c.Count
		sum.Validate += c.Validate
		sum.Write += c.Write
		sum.Chunks = append(sum.Chunks, c)
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
