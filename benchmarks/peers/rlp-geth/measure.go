package main

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"blockmill/measure"
)

// counted is the number of operations over which allocations are counted.
const counted = 100

// sampling is how an operation is repeated.
type sampling struct {
	samples int
	atLeast time.Duration // each sample repeats the operation until it takes about as long
}

// measure runs an operation once, then until a sample is long enough, then for the samples, and
// finally to count its allocations. Times are nanoseconds. Allocations and page faults are means of
// one operation, without the first.
func (s sampling) measure(operation func()) (c measure.Line, err error) {
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
	column := measure.Column{Name: "time_ns", Unit: "ns", Values: samples}
	c.Series = []measure.Series{{Row: "sample", Columns: []measure.Column{column}}}
	c.Facts = map[string]float64{
		"time_ns":           median(samples),
		"first_ns":          float64(first.Nanoseconds()), // the first operation of the process
		"first_page_faults": float64(firstFaults),
		"iterations":        float64(iterations), // operations in each sample
		"page_faults":       float64(after-before) / (float64(s.samples) * float64(iterations)),
		"allocations":       testing.AllocsPerRun(counted, operation),
		"allocated_bytes":   allocatedBytes(operation),
		"peak_rss_bytes":    measure.PeakRSS(), // before the answer is computed
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
