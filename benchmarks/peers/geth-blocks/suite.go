package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/tests"
)

// testFile is a file of public tests, all of one kind.
type testFile struct {
	path    string
	text    []byte
	isState bool
}

// runSuite runs the state tests and blockchain tests of a folder as `evm statetest` and
// `evm blocktest` do, but on several threads.
func runSuite(o options) (measure.Line, error) {
	line := measure.Line{Version: version()}
	start := time.Now()
	files, err := testFiles(o.Tests)
	if err != nil {
		return line, err
	}
	line.Facts = map[string]float64{"setup_s": time.Since(start).Seconds()}
	if o.Samples > 0 {
		return line, measureEach(files, o.Samples, &line)
	}
	user, sys := measure.CPUSeconds()
	start = time.Now()
	var cases, failed, next atomic.Int64
	var group sync.WaitGroup
	for range o.Threads {
		group.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(files); at = int(next.Add(1)) - 1 {
				all, bad := files[at].run()
				cases.Add(all)
				failed.Add(bad)
			}
		})
	}
	group.Wait()
	wall := time.Since(start).Seconds()
	userEnd, sysEnd := measure.CPUSeconds()
	line.Facts["wall_s"] = wall
	line.Facts["cpu_user_s"], line.Facts["cpu_sys_s"] = userEnd-user, sysEnd-sys
	line.Facts["peak_rss_bytes"] = measure.PeakRSS()
	line.Facts["failed"] = float64(failed.Load())
	line.Answer = map[string]string{"cases": fmt.Sprint(cases.Load())}
	return line, nil
}

// measureEach runs each test alone, and adds its speed and the sums to the line.
func measureEach(files []testFile, samples int, line *measure.Line) error {
	user, sys := measure.CPUSeconds()
	start := time.Now()
	var allGas uint64
	var allSeconds float64
	for _, file := range files {
		all, err := file.measured()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			gas, seconds, err := all[name](samples)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if gas == 0 {
				continue
			}
			line.Facts[name+".mgas_per_s"] = float64(gas) / 1e6 / seconds
			line.Facts[name+".time_ns"] = seconds * 1e9
			line.Facts[name+".gas"] = float64(gas)
			allGas += gas
			allSeconds += seconds
		}
	}
	userEnd, sysEnd := measure.CPUSeconds()
	line.Facts["wall_s"] = time.Since(start).Seconds()
	line.Facts["cpu_user_s"], line.Facts["cpu_sys_s"] = userEnd-user, sysEnd-sys
	line.Facts["peak_rss_bytes"] = measure.PeakRSS()
	line.Facts["gas"] = float64(allGas)
	line.Facts["mgas_per_s"] = float64(allGas) / 1e6 / allSeconds
	line.Answer = map[string]string{"gas": fmt.Sprint(allGas)}
	return nil
}

// measureTest returns the gas of a test, and the time of its median run.
type measureTest func(samples int) (gas uint64, seconds float64, err error)

// measured decodes the tests of a file, each ready to be measured.
func (f testFile) measured() (map[string]measureTest, error) {
	if f.isState {
		return decoded(f.text, measureState)
	}
	return decoded(f.text, measureOne)
}

// decoded returns the tests of one kind in a text.
func decoded[T any](
	text []byte, measure func(*T, int) (uint64, float64, error),
) (map[string]measureTest, error) {
	var all map[string]*T
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	each := map[string]measureTest{}
	for name, test := range all {
		each[name] = func(samples int) (uint64, float64, error) { return measure(test, samples) }
	}
	return each, nil
}

// measureState returns the gas of all cases of a state test, and the time of its median run.
func measureState(test *tests.StateTest, samples int) (gas uint64, seconds float64, err error) {
	for _, one := range test.Subtests() {
		// compares roots and logs
		err := test.Run(one, vm.Config{}, false, rawdb.PathScheme, func(error, *tests.StateTestState) {})
		if err != nil {
			return 0, 0, err
		}
	}
	var times []float64
	for range samples {
		gas = 0
		start := time.Now()
		for _, one := range test.Subtests() {
			state, _, used, err := test.RunNoVerify(one, vm.Config{}, false, rawdb.PathScheme)
			state.Close()
			if err == nil {
				gas += used
			}
		}
		times = append(times, time.Since(start).Seconds())
	}
	return gas, median(times), nil
}

func median(times []float64) float64 {
	slices.Sort(times)
	return (times[(len(times)-1)/2] + times[len(times)/2]) / 2
}

// measureOne returns the gas of a blockchain test's blocks, and the time of its median run.
func measureOne(test *tests.BlockTest, samples int) (gas uint64, seconds float64, err error) {
	var times []float64
	for range samples {
		start := time.Now()
		err := test.Run(false, rawdb.PathScheme, false, nil, func(_ error, chain *core.BlockChain) {
			times = append(times, time.Since(start).Seconds())
			gas = 0
			for number := uint64(1); number <= chain.CurrentBlock().Number.Uint64(); number++ {
				gas += chain.GetHeaderByNumber(number).GasUsed
			}
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return gas, median(times), nil
}

// testFiles reads the files of a folder whose tests are of a kind that both programs run.
func testFiles(folder string) ([]testFile, error) {
	var files []testFile
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var fields map[string]map[string]json.RawMessage
		if json.Unmarshal(text, &fields) != nil {
			return nil
		}
		for _, test := range fields {
			_, isState := test["post"]
			_, isChain := test["blocks"]
			if isState || isChain {
				files = append(files, testFile{path, text, isState})
			}
			break
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errors.New("no tests in the folder")
	}
	return files, err
}

// run runs the tests of a file, and counts cases and those that failed.
func (f testFile) run() (cases, failed int64) {
	count := func(err error) {
		cases++
		if err != nil {
			failed++
		}
	}
	if f.isState {
		var all map[string]tests.StateTest
		if err := json.Unmarshal(f.text, &all); err != nil {
			count(err)
		}
		for _, test := range all {
			for _, one := range test.Subtests() {
				count(test.Run(one, vm.Config{}, false, rawdb.HashScheme, func(error, *tests.StateTestState) {}))
			}
		}
		return cases, failed
	}
	var all map[string]*tests.BlockTest
	if err := json.Unmarshal(f.text, &all); err != nil {
		count(err)
	}
	for _, test := range all {
		count(test.Run(false, rawdb.PathScheme, false, nil, nil))
	}
	return cases, failed
}
