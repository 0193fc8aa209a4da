package main

import (
	"fmt"
	"os"
	"runtime"
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
	FirstNS         int64     `json:"first_ns"`   // the first operation of the process
	SamplesNS       []float64 `json:"samples_ns"` // one operation, from each sample
	Iterations      int       `json:"iterations"` // operations in each sample
	Allocations     float64   `json:"allocations"`
	AllocatedBytes  float64   `json:"allocated_bytes"`
	FirstPageFaults int64     `json:"first_page_faults"`
	PageFaults      float64   `json:"page_faults"` // over all samples
	PeakRSS         uint64    `json:"peak_rss_kb"` // of the resident memory, before the answer is made
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
	c.FirstNS = repeat(1).Nanoseconds()
	after, _ := minorFaults()
	c.FirstPageFaults = after - before

	// twice in a row, since one sample may be long because something else ran meanwhile
	c.Iterations = 1
	for repeat(c.Iterations) < s.atLeast || repeat(c.Iterations) < s.atLeast {
		c.Iterations *= 2
	}
	c.SamplesNS = make([]float64, s.samples)
	before, _ = minorFaults()
	for i := range c.SamplesNS {
		c.SamplesNS[i] = float64(repeat(c.Iterations).Nanoseconds()) / float64(c.Iterations)
	}
	after, _ = minorFaults()
	c.PageFaults = float64(after-before) / (float64(s.samples) * float64(c.Iterations))

	c.Allocations = testing.AllocsPerRun(counted, operation)
	c.AllocatedBytes = allocatedBytes(operation)
	c.PeakRSS = peakRSS()
	return c, nil
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

// peakRSS is the largest resident size so far in KiB, 0 where the kernel does not tell. It is VmHWM
// because the maximum of getrusage begins with the size of the parent at the fork.
func peakRSS() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}
