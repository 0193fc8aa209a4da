// Package measure holds what the Go peers share: the JSON line that a run prints, its clocks, and
// its memory. It depends on no client, so that peers with different versions of one can use it.
package measure

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
)

// Line is the last line that a run prints: the part of a run record that only the peer knows.
// ../peers.toml describes the fields.
type Line struct {
	Version string             `json:"version"`
	Error   string             `json:"error,omitempty"`
	Facts   map[string]float64 `json:"facts,omitempty"`
	Series  []Series           `json:"series,omitempty"`
	Answer  map[string]string  `json:"answer,omitempty"`
	Tip     *Block             `json:"tip,omitempty"`
	Notes   []string           `json:"notes,omitempty"`
}

// Block is a block by its number and hash.
type Block struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// Series is a list of rows, stored by column.
type Series struct {
	Row     string   `json:"row"`
	Columns []Column `json:"columns"`
}

// Column is one figure of all rows.
type Column struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// Add appends a row: one value for each column.
func (s *Series) Add(row ...float64) {
	for i, value := range row {
		s.Columns[i].Values = append(s.Columns[i].Values, value)
	}
}

// Sum adds the values of a column.
func (s *Series) Sum(column int) (sum float64) {
	for _, value := range s.Columns[column].Values {
		sum += value
	}
	return sum
}

// Print writes the line to standard output.
func (l Line) Print() error {
	return json.NewEncoder(os.Stdout).Encode(l)
}

// Fail prints a line with the error and ends the process with status 1.
func Fail(version string, err error) {
	Line{Version: version, Error: err.Error()}.Print()
	os.Exit(1)
}

// WithGo appends the version of Go to that of the client.
func WithGo(version string) string { return version + ", " + runtime.Version() }

// VersionOf names a client and Go as the program was built: "neo-go v0.122.0, go1.26.8". The
// version of the client is that of its module.
func VersionOf(name, module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, one := range info.Deps {
			if one.Path == module {
				return WithGo(name + " " + one.Version)
			}
		}
	}
	return WithGo(name)
}
