// Package driver imports an archive of headers through the header chain of one client and prints
// what it cost as one line of JSON. It depends on no client: each program next to it supplies one.
package driver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"blockmill/measure"
)

// Options are the flags of a program.
type Options struct {
	Eras     []string // era1 files, in order
	Stream   string   // or a file of concatenated headers
	DB       string   // kind of database
	Dir      string   // folder for the database
	CacheDir string   // folder of the ethash caches, kept between runs
	Chunk    int      // headers a batch
	Freq     int      // seal check on 1 header in Freq; 0: none, 1: all
	Mutate   string   // report what the client accepts instead of importing
}

// Chain is the header chain of a client; H is its header type. A batch is verified and then
// written, as the client does when it syncs headers.
type Chain[H any] interface {
	// Decode parses the RLP of a header; raw is reused afterwards.
	Decode(raw []byte) (H, error)
	// Number is the block number of a header.
	Number(header H) uint64
	// Warm makes ready what the client keeps between runs: the caches for the seal of header.
	Warm(header H) error
	// Validate checks a batch, the seal of 1 header in freq; it returns the index that fails.
	Validate(batch []H, freq int) (int, error)
	// Write stores a batch that was found valid.
	Write(batch []H) error
	// Head is the number and hash of the last header.
	Head() (uint64, string)
	// Close closes the database.
	Close() error
}

// Client is what a program gives to Main.
type Client[H any] struct {
	Version string   // of the client
	Kinds   []string // of database, the default first
	Seals   bool     // whether it can check seals
	Open    func(Options) (Chain[H], error)
}

// version names the client and Go.
func (c Client[H]) version() string { return measure.WithGo(c.Version) }

// failure is an error at a position of the input.
type failure struct {
	Stage string
	Index int // of the header within the input, genesis not counted
	Err   error
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s stopped at header %d of the input: %v", f.Stage, f.Index, f.Err)
}
func (f *failure) Unwrap() error { return f.Err }

// Main runs the program: exit status 0 and one line (with -mutate one a case), or 1 and a line
// with the error, or 2 for flags that make no sense.
func Main[H any](client Client[H]) {
	options, err := parse(client.Kinds, client.Seals)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := inFolder(client, options); err != nil {
		measure.Fail(client.version(), err)
	}
}

// parse reads the flags. A client without seal checks has no flags for them.
func parse(kinds []string, seals bool) (Options, error) {
	var o Options
	eras := flag.String("era", "", "era1 files, separated by commas")
	flag.StringVar(&o.Stream, "stream", "", "file of concatenated header RLP")
	flag.StringVar(&o.DB, "db", kinds[0], "database: "+strings.Join(kinds, ", "))
	flag.StringVar(&o.Dir, "dir", "", "empty or new folder for the database (default: temporary)")
	flag.IntVar(&o.Chunk, "chunk", 2048, "headers a batch")
	flag.StringVar(&o.Mutate, "mutate", "", "field to damage in the last header, or all")
	if seals {
		flag.StringVar(&o.CacheDir, "cachedir", "", "folder of ethash caches (default: within -dir)")
		flag.IntVar(&o.Freq, "freq", 100, "check the seal of 1 header in N; 0: none, 1: all")
	}
	flag.Parse()
	if *eras != "" {
		o.Eras = strings.Split(*eras, ",")
	}
	switch {
	case (len(o.Eras) == 0) == (o.Stream == ""):
		return o, errors.New("one of -era and -stream is needed")
	case o.Chunk < 1 || o.Freq < 0 || flag.NArg() > 0:
		return o, errors.New("-chunk is at least 1, -freq at least 0, and no argument follows")
	}
	for _, kind := range kinds {
		if kind == o.DB {
			return o, nil
		}
	}
	return o, fmt.Errorf("-db %s: one of %s expected", o.DB, strings.Join(kinds, ", "))
}

// inFolder does the work in an empty folder, a temporary one if none is named.
func inFolder[H any](client Client[H], o Options) error {
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "geth-headers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.Dir = dir
	} else if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("-dir %s is not empty", o.Dir)
	}
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(o.Dir, "ethash")
	}
	o.Dir = filepath.Join(o.Dir, "db")
	if o.Mutate != "" {
		return verdicts(client, o)
	}
	return run(client, o)
}

// readBatch decodes up to limit headers; the genesis header is skipped. It is empty at the end.
func readBatch[H any](chain Chain[H], in *source, limit int) ([]H, error) {
	batch := make([]H, 0, limit)
	for len(batch) < limit {
		raw, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			var header H
			if header, err = chain.Decode(raw); err == nil {
				if chain.Number(header) > 0 {
					batch = append(batch, header)
				}
				continue
			}
		}
		return nil, &failure{Stage: "decode", Index: len(batch), Err: err}
	}
	return batch, nil
}
