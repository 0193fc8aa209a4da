package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// counted is the number of operations over which allocations are counted.
const counted = 100

// sampling is how an operation is repeated.
type sampling struct {
	samples int
	atLeast time.Duration // each sample repeats the operation until it takes about as long
}

// costs are those of an operation. Times are nanoseconds; allocations and page faults are those of
// one operation on average, but for the first one.
type costs struct {
	Facts  map[string]float64 `json:"facts"`
	Series [1]series          `json:"series"`
}

// series are the samples.
type series struct {
	Row     string    `json:"row"`
	Columns [1]column `json:"columns"`
}

// column is one operation, from each sample.
type column struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// measure runs an operation once, then until a sample is long enough, then for the samples, and a
// last time to count its allocations.
func (s sampling) measure(operation func()) (c costs, err error) {
	repeat := func(iterations int) time.Duration {
		start := time.Now()
		for range iterations {
			operation()
		}
		return time.Since(start)
	}
	// the first calls of the clock and of getrusage bring their own pages into memory
	repeat(0)
	if _, err = minorFaults(); err != nil {
		return c, err
	}
	before, _ := minorFaults()
	first := repeat(1)
	after, _ := minorFaults()
	firstFaults := after - before

	// twice in a row, since one sample may be long because something else ran meanwhile
	iterations := 1
	for repeat(iterations) < s.atLeast || repeat(iterations) < s.atLeast {
		iterations *= 2
	}
	samples := make([]float64, s.samples)
	before, _ = minorFaults()
	for i := range samples {
		samples[i] = float64(repeat(iterations).Nanoseconds()) / float64(iterations)
	}
	after, _ = minorFaults()
	c.Series[0] = series{"sample", [1]column{{"time_ns", "ns", samples}}}
	c.Facts = map[string]float64{
		"time_ns":           median(samples),
		"first_ns":          float64(first.Nanoseconds()), // the first operation of the process
		"first_page_faults": float64(firstFaults),
		"iterations":        float64(iterations), // operations in each sample
		"page_faults":       float64(after-before) / (float64(s.samples) * float64(iterations)),
		"allocations":       testing.AllocsPerRun(counted, operation),
		"allocated_bytes":   allocatedBytes(operation),
		"peak_rss_bytes":    float64(peakRSS()), // before the answer is made
	}
	return c, nil
}

// median is the smallest sample that at least a half of them do not exceed.
func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[(len(sorted)-1)/2]
}

// allocatedBytes is how much an operation takes from the heap.
func allocatedBytes(operation func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no other goroutine allocates meanwhile
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range counted {
		operation()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / counted
}

// minorFaults are the page faults of this process so far that needed no disk.
func minorFaults() (int64, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return int64(usage.Minflt), err
}

// peakRSS is the largest resident size so far in bytes, 0 where the kernel does not tell. It is VmHWM
// because the maximum of getrusage begins with the size of the parent at the fork.
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
