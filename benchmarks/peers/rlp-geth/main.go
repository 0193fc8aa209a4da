// One RLP or hash operation of go-ethereum on one object, measured, as one line of JSON.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"blockmill/measure"
)

const (
	cases = "transaction, header, transactions-N, block-N or headers-N"
	ops   = "encode, encode-reused, hash, hash-reused or hash-each"

	mostObjects   = 1_000_000 // in a list, so that a mistyped number cannot fill the memory
	mostSamples   = 100_000
	longestSample = 60_000 // milliseconds
)

// arguments are the flags of a run.
type arguments struct {
	kind     string // the case without its number
	count    int    // its number
	op       string
	sampling sampling
}

func main() {
	caseName := flag.String("case", "", cases)
	op := flag.String("op", "", ops)
	samples := flag.Int("samples", 21, "number of samples")
	minMS := flag.Int("min-ms", 5, "least length of a sample in milliseconds")
	flag.Parse()
	arguments, err := check(*caseName, *op, *samples, *minMS)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	costs, answer, err := run(arguments)
	if err == nil {
		// here, so that the first operation of the process is the measured one
		checkLengths()
		costs.Version, costs.Answer = version(), answer.texts()
		err = costs.Print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check makes sense of the flags, or says which one has none.
func check(caseName, op string, samples, minMS int) (arguments, error) {
	a := arguments{op: op, sampling: sampling{samples, time.Duration(minMS) * time.Millisecond}}
	kind, digits, list := strings.Cut(caseName, "-")
	a.kind = kind
	switch {
	case !list && (kind == "transaction" || kind == "header"):
	case list && (kind == "transactions" || kind == "block" || kind == "headers"):
		var err error
		if a.count, err = strconv.Atoi(digits); err != nil || a.count < 1 || a.count > mostObjects {
			return a, fmt.Errorf("-case %s: a number from 1 to %d expected", caseName, mostObjects)
		}
	default:
		return a, fmt.Errorf("-case %s: %s expected", caseName, cases)
	}
	switch op {
	case "encode", "encode-reused", "hash", "hash-reused":
		if kind == "headers" {
			return a, fmt.Errorf("-case %s: for hash-each only", caseName)
		}
	case "hash-each":
		if kind != "headers" && kind != "transactions" {
			return a, fmt.Errorf("-op %s: for transactions-N and headers-N only", op)
		}
	default:
		return a, fmt.Errorf("-op %s: %s expected", op, ops)
	}
	switch {
	case flag.NArg() > 0:
		return a, fmt.Errorf("%s: no argument is expected", flag.Arg(0))
	case samples < 1 || samples > mostSamples:
		return a, fmt.Errorf("-samples %d: a number from 1 to %d expected", samples, mostSamples)
	case minMS < 0 || minMS > longestSample:
		return a, fmt.Errorf("-min-ms %d: a number from 0 to %d expected", minMS, longestSample)
	}
	return a, nil
}

// version names go-ethereum and Go as the program was built.
func version() string {
	return measure.VersionOf("go-ethereum", "github.com/ethereum/go-ethereum")
}
