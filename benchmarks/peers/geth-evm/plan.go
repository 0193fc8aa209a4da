package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
)

// plan is what is measured: docs/formats/evm-programs.md.
type plan struct {
	Programs   []program   `json:"programs"`
	Operations []operation `json:"operations"`
}

// program is a contract that is called.
type program struct {
	To      string `json:"to"`
	Input   string `json:"input"`
	Blobs   byte   `json:"blobs"`
	GasUsed uint64 `json:"gas_used"`

	address common.Address
	data    []byte
}

// operation is something with a measured time: a sum of shares of programs' times.
type operation struct {
	Name     string  `json:"name"`
	Program  int     `json:"program"`
	Baseline *int    `json:"baseline"`
	Gas      float64 `json:"gas"`
	Terms    []term  `json:"terms"`
}

// term is a program and the share of its time.
type term struct {
	program int
	share   float64
}

// UnmarshalJSON reads a pair.
func (t *term) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&t.program, &t.share})
}

// time is that of the operation, from those of the programs.
func (o *operation) time(of func(int) float64) float64 {
	sum := 0.0
	for _, t := range o.Terms {
		sum += of(t.program) * t.share
	}
	return sum
}

// readPlan reads programs.json, all of whose numbers of programs are of its own.
func readPlan(folder string) (*plan, error) {
	text, err := os.ReadFile(filepath.Join(folder, "programs.json"))
	if err != nil {
		return nil, err
	}
	p := new(plan)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("programs.json: %w", err)
	}
	for i := range p.Programs {
		one := &p.Programs[i]
		to, err := hex.DecodeString(one.To)
		if err != nil || len(to) != common.AddressLength {
			return nil, fmt.Errorf("programs.json, program %d: an address expected", i)
		}
		one.address = common.BytesToAddress(to)
		if one.data, err = hex.DecodeString(one.Input); err != nil {
			return nil, fmt.Errorf("programs.json, program %d: %w", i, err)
		}
	}
	known := func(i int) bool { return i >= 0 && i < len(p.Programs) }
	for _, o := range p.Operations {
		sound := known(o.Program)
		for _, t := range o.Terms {
			sound = sound && known(t.program)
		}
		if !sound {
			return nil, fmt.Errorf("programs.json, %s: an unknown program", o.Name)
		}
	}
	return p, nil
}
