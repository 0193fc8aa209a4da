// The program freezer-open opens an ancient folder with the freezer of go-ethereum v1.17.10 and
// checks that each header hashes to what the hashes table says. It prints one line of JSON and
// ends with status 1 if the folder does not open, is empty, or a header does not agree.
//
// With -write the freezer repairs what it finds wrong, which can shorten the folder: give a copy.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/rlp"
)

// window is the number of headers read at once.
const window = 4096

// sample is one block of the folder: its hash, and the size of each part in bytes.
type sample struct {
	Number   uint64      `json:"number"`
	Hash     common.Hash `json:"hash"`
	Header   int         `json:"header_bytes"`
	Body     int         `json:"body_bytes"`
	Receipts int         `json:"receipts_bytes"`
}

type report struct {
	Client     string   `json:"client"`
	Mode       string   `json:"mode"`
	Items      uint64   `json:"items"`
	Tail       uint64   `json:"tail"` // the first item that still has a body
	Checked    uint64   `json:"headers_checked"`
	Mismatches []uint64 `json:"mismatches"` // at most ten numbers
	Unlinked   []uint64 `json:"unlinked"`   // whose parent hash is not the header before
	Samples    []sample `json:"samples"`
	Error      string   `json:"error,omitempty"`
}

func main() {
	dir := flag.String("dir", "", "ancient folder")
	write := flag.Bool("write", false, "open for writing: on a copy only")
	flag.Parse()
	handler := log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelWarn, false)
	log.SetDefault(log.NewLogger(handler))
	r := report{Client: "v1.17.10", Mode: "read-only", Mismatches: []uint64{}, Unlinked: []uint64{}}
	if *write {
		r.Mode = "write"
	}
	if err := r.fill(*dir, !*write); err != nil {
		r.Error = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(r)
	if r.Error != "" || len(r.Mismatches)+len(r.Unlinked) > 0 {
		os.Exit(1)
	}
}

// fill opens the folder and looks at all of it.
func (r *report) fill(dir string, readOnly bool) error {
	if _, err := os.Stat(dir); err != nil {
		return err // geth would make a new folder
	}
	options := rawdb.OpenOptions{Ancient: dir, ReadOnly: readOnly}
	db, err := rawdb.Open(rawdb.NewMemoryDatabase(), options)
	if err != nil {
		return err
	}
	defer db.Close()
	if r.Items, err = db.Ancients(); err != nil {
		return err
	}
	if r.Items == 0 {
		return fmt.Errorf("no items in %s", dir)
	}
	if r.Tail, err = db.Tail(rawdb.ChainFreezerBlockDataGroup); err != nil {
		return err
	}
	if err := r.checkHeaders(db); err != nil {
		return err
	}
	return r.takeSamples(db)
}

// checkHeaders holds the Keccak-256 of each header against the hashes table, and against the
// parent hash of the header that follows.
func (r *report) checkHeaders(db ethdb.Database) error {
	var parent common.Hash
	for r.Checked < r.Items {
		headers, err := db.AncientRange(rawdb.ChainFreezerHeaderTable, r.Checked, window, 0)
		if err != nil {
			return err
		}
		hashes, err := db.AncientRange(rawdb.ChainFreezerHashTable, r.Checked, window, 0)
		if err != nil {
			return err
		}
		if len(headers) == 0 || len(headers) != len(hashes) {
			return fmt.Errorf("%d headers and %d hashes from item %d", len(headers), len(hashes), r.Checked)
		}
		for i, raw := range headers {
			var header types.Header
			if err := rlp.DecodeBytes(raw, &header); err != nil {
				return fmt.Errorf("header %d: %w", r.Checked, err)
			}
			hash := crypto.Keccak256Hash(raw)
			if hash != common.BytesToHash(hashes[i]) && len(r.Mismatches) < 10 {
				r.Mismatches = append(r.Mismatches, r.Checked)
			}
			if r.Checked > 0 && header.ParentHash != parent && len(r.Unlinked) < 10 {
				r.Unlinked = append(r.Unlinked, r.Checked)
			}
			parent = hash
			r.Checked++
		}
	}
	return nil
}

// takeSamples notes the first, the middle and the last item. Bodies below the tail are gone.
func (r *report) takeSamples(db ethdb.Database) error {
	for _, n := range []uint64{0, r.Items / 2, r.Items - 1} {
		s := sample{Number: n, Hash: rawdb.ReadCanonicalHash(db, n)}
		tables := map[string]*int{rawdb.ChainFreezerHeaderTable: &s.Header}
		if n >= r.Tail {
			tables[rawdb.ChainFreezerBodiesTable] = &s.Body
			tables[rawdb.ChainFreezerReceiptTable] = &s.Receipts
		}
		for table, size := range tables {
			item, err := db.Ancient(table, n)
			if err != nil {
				return fmt.Errorf("%s %d: %w", table, n, err)
			}
			*size = len(item)
		}
		r.Samples = append(r.Samples, s)
	}
	return nil
}
