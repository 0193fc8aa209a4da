// The program neo-go restores a dump of blocks with neo-go, as its own `db restore` does, and
// prints what it cost as one line of JSON.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"blockmill/measure"
)

// options are the flags of a run.
type options struct {
	dump   string // file of blocks, not compressed
	config string // neo-go's configuration of the network
	dir    string // new folder for the database, or with goOn one that has it
	db     string // kind of database
	verify bool   // are blocks, witnesses and transactions verified?
	digest bool   // answer with a digest of all state roots and application logs, too
	until  uint   // last block, if it is not that of the dump
	dumpTo string // write the chain to a dump, read from the database
	goOn   bool   // start after the last block of an existing database
	latest bool   // keep only the state after the last block
	list   string // write all entries of the database to a file
	script string // run this script instead, in hexadecimal digits
}

func main() {
	o, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if o.script != "" {
		if err := script(o.config, o.script); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	line, err := restore(o)
	if err == nil {
		err = line.Print()
	}
	if err != nil {
		measure.Fail(version(), err)
	}
}

// parse reads the flags, or says which one makes no sense.
func parse() (options, error) {
	var o options
	var verify string
	flag.StringVar(&o.dump, "dump", "", "dump of blocks (.acc)")
	flag.StringVar(&o.config, "config", "", "configuration of the network (YAML)")
	flag.StringVar(&o.dir, "dir", "", "new folder for the database")
	flag.StringVar(&o.db, "db", "leveldb", "database: leveldb or boltdb")
	flag.StringVar(&verify, "verify", "full", "full: blocks and transactions; none: they are only executed")
	flag.BoolVar(&o.digest, "digest", false, "answer with a digest of all state roots and application logs")
	flag.UintVar(&o.until, "until", 0, "last block (default: that of the dump)")
	flag.StringVar(&o.dumpTo, "dump-to", "", "write the chain to this file, too")
	flag.BoolVar(&o.goOn, "go-on", false, "continue the database in -dir")
	flag.BoolVar(&o.latest, "keep-latest", false, "keep only the state after the last block")
	flag.StringVar(&o.list, "entries", "", "write all entries of the database to this file: key and value in digits")
	flag.StringVar(&o.script, "script", "", "run this script, in hexadecimal digits, and print nanoseconds")
	flag.Parse()
	o.verify = verify == "full"
	switch {
	case o.script != "" && o.config != "":
		return o, nil
	case o.dump == "" || o.config == "" || o.dir == "":
		return o, errors.New("-dump, -config and -dir are needed")
	case verify != "full" && verify != "none":
		return o, fmt.Errorf("-verify %s: full or none expected", verify)
	case o.db != "leveldb" && o.db != "boltdb":
		return o, fmt.Errorf("-db %s: leveldb or boltdb expected", o.db)
	case flag.NArg() > 0:
		return o, fmt.Errorf("%s: no argument is expected", flag.Arg(0))
	}
	if entries, err := os.ReadDir(o.dir); err == nil && len(entries) > 0 && !o.goOn {
		return o, fmt.Errorf("-dir %s is not empty", o.dir)
	}
	return o, nil
}

// version names neo-go and Go as the program was built.
func version() string {
	return measure.VersionOf("neo-go", "github.com/nspcc-dev/neo-go")
}
