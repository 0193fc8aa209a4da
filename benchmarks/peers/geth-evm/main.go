// The program geth-evm runs the programs of blockmill's benchmark of the virtual machine through
// go-ethereum's ApplyMessage, and prints what their operations take as one line of JSON.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/log"
)

// clientVersion is that of the client, as go.mod pins it.
const clientVersion = "v1.17.10"

// mostSamples keeps a mistyped number from running for ever.
const mostSamples = 10_000

// options are the flags.
type options struct {
	Genesis string // a genesis.json with the accounts
	Plan    string // the folder of programs.json
	Samples int    // runs of each program after the first
}

func main() {
	handler := log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelError+1, false)
	log.SetDefault(log.NewLogger(handler))
	o, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	line, err := runAll(o)
	if err == nil {
		err = line.Print()
	}
	if err != nil {
		measure.Fail(version(), err)
	}
}

// version names the client and Go.
func version() string { return measure.WithGo(clientVersion) }

func parse() (options, error) {
	var o options
	flag.StringVar(&o.Genesis, "genesis", "", "genesis.json with the accounts")
	flag.StringVar(&o.Plan, "plan", "", "folder of programs.json")
	flag.IntVar(&o.Samples, "samples", 5, "runs of each program")
	flag.Parse()
	switch {
	case o.Genesis == "" || o.Plan == "":
		return o, errors.New("-genesis and -plan are needed")
	case o.Samples < 1 || o.Samples > mostSamples:
		return o, fmt.Errorf("-samples %d: a number from 1 to %d expected", o.Samples, mostSamples)
	}
	return o, nil
}
