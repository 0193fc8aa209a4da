// The program geth-rpc gives blocks to a go-ethereum node, lets ethereum-etl copy them through the
// node's JSON-RPC on loopback, and prints what the copy cost as one line of JSON.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/log"
)

// nodeVersion is that of the node, as go.mod pins it.
const nodeVersion = "go-ethereum v1.17.10"

// options are the flags.
type options struct {
	Genesis string // a genesis.json
	RLP     string // an RLP export
	Dir     string // folder for the database and the tables
	Batch   int    // blocks of a batch of requests
	Workers int    // threads of ethereum-etl
	ETL     string // the folder of the Python environment that has it
}

func main() {
	handler := log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelError+1, false)
	log.SetDefault(log.NewLogger(handler))
	o, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		measure.Fail("", err)
	}
}

func parse() (options, error) {
	var o options
	program, err := os.Executable()
	if err != nil {
		return o, err
	}
	flag.StringVar(&o.Genesis, "genesis", "", "genesis.json")
	flag.StringVar(&o.RLP, "rlp", "", "RLP export")
	flag.StringVar(&o.Dir, "dir", "", "empty or new folder for the database and the tables")
	flag.IntVar(&o.Batch, "batch", 100, "blocks of a batch of requests")
	flag.IntVar(&o.Workers, "workers", 1, "threads of ethereum-etl")
	flag.StringVar(&o.ETL, "etl", filepath.Join(filepath.Dir(program), "venv"),
		"folder of the Python environment that has ethereum-etl")
	flag.Parse()
	if o.Genesis == "" || o.RLP == "" || o.Dir == "" {
		return o, errors.New("-genesis, -rlp and -dir are needed")
	}
	return o, os.MkdirAll(o.Dir, 0o755)
}

// versions are all that took part, ethereum-etl first.
func versions(etl string) string {
	return measure.WithGo(etl + ", " + nodeVersion)
}
