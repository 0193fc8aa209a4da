// The program geth-blocks imports whole blocks through go-ethereum's BlockChain.InsertChain, with
// the database and the caches of `geth import`, and prints what it cost as one line of JSON.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/log"
)

// clientVersion is that of the client, as go.mod pins it.
const clientVersion = "v1.17.10"

// options are the flags.
type options struct {
	Genesis  string   // a genesis.json, or "mainnet"
	RLP      string   // an RLP export
	Eras     []string // or era1 files, in order
	Dir      string   // folder for the database
	Until    uint64   // the last block that is imported; 0: that of the input
	Prefetch bool     // execute blocks ahead to warm caches
	Try      string   // an RLP file of blocks that are each tried on the head of the chain

	Witnesses string // or a folder of blocks with witnesses, which need no database
	Tests     string // or a folder of public tests
	Samples   int    // runs of each blockchain test alone; 0: all tests, once
	Threads   int    // on so many threads
	Rounds    int    // each so often
	Dump      string // file for the state at the end, as `geth dump --iterative` has it
	Flat      string // file for the state at the end, as `geth snapshot dump` has it
	Check     string // a state dump that is read and hashed; nothing else is done
}

func main() {
	handler := log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelError+1, false)
	log.SetDefault(log.NewLogger(handler))
	o, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if o.Check != "" {
		if err := checkDump(o.Check); err != nil {
			measure.Fail(version(), err)
		}
		return
	}
	if err := run(o); err != nil {
		measure.Fail(version(), err)
	}
}

// version names the client and Go.
func version() string { return measure.WithGo(clientVersion) }

func parse() (options, error) {
	var o options
	flag.StringVar(&o.Genesis, "genesis", "mainnet", "genesis.json, or mainnet")
	flag.StringVar(&o.RLP, "rlp", "", "RLP export")
	eras := flag.String("era", "", "era1 files, separated by commas")
	flag.StringVar(&o.Dir, "dir", "", "folder for the database; an existing one is continued")
	flag.Uint64Var(&o.Until, "until", 0, "the last block that is imported; 0: that of the input")
	prefetch := flag.String("prefetch", "on", "execute blocks ahead to warm caches: on, off")
	flag.StringVar(&o.Try, "try", "", "blocks that are each tried on the head of the chain")
	flag.StringVar(&o.Witnesses, "witnesses", "", "folder of blocks with witnesses")
	flag.StringVar(&o.Tests, "tests", "", "folder of state tests and blockchain tests")
	flag.IntVar(&o.Samples, "samples", 0, "runs of each blockchain test alone; 0: all tests, once")
	flag.IntVar(&o.Threads, "threads", 1, "blocks with witnesses, or files of tests, that are executed at once")
	flag.IntVar(&o.Rounds, "rounds", 1, "how often each block with a witness is executed")
	flag.StringVar(&o.Dump, "dump", "", "file for the state at the end, with preimages")
	flag.StringVar(&o.Flat, "snapshot-dump", "", "file for the state at the end, hashed")
	flag.StringVar(&o.Check, "check-dump", "", "a state dump that is read and hashed, no more")
	flag.Parse()
	if *eras != "" {
		o.Eras = strings.Split(*eras, ",")
	}
	o.Prefetch = *prefetch == "on"
	switch {
	case o.Witnesses != "" || o.Tests != "":
		if o.Threads < 1 || o.Rounds < 1 {
			return o, errors.New("-threads and -rounds: at least 1 expected")
		}
		return o, nil
	case o.Check != "":
		return o, nil
	case (len(o.Eras) == 0) == (o.RLP == ""):
		return o, errors.New("one of -era and -rlp is needed")
	case o.Dir == "":
		return o, errors.New("-dir is needed")
	case !o.Prefetch && *prefetch != "off":
		return o, fmt.Errorf("-prefetch %s: on or off expected", *prefetch)
	}
	return o, nil
}
