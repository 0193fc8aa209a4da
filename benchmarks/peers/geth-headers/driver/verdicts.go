package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// before is how many intact headers stand before the damaged one in its batch.
const before = 15

// verdict says what a client makes of a header with one damaged field. The damaged header is the
// last of the batch, so that no later parent hash gives it away.
type verdict struct {
	Client   string `json:"client"`
	Field    string `json:"field"`
	Change   string `json:"change"`
	Seals    string `json:"seals"` // "none", "all", or "not in this client"
	Accepted bool   `json:"accepted"`
	Error    string `json:"error,omitempty"`
}

// verdicts imports all but the end of the input, then offers the last header with each field
// damaged in turn. Only validation counts: no client looks at a header again when it writes it.
func verdicts[H any](client Client[H], o Options) error {
	raw, err := readRaw(o)
	if err != nil {
		return err
	}
	chain, err := client.Open(o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer chain.Close()
	headers, err := decodeAll(chain, raw)
	if err != nil {
		return err
	}
	if len(headers) < 2 {
		return errors.New("at least two headers besides genesis are needed")
	}
	tail := max(1, len(headers)-1-before)
	if n, err := chain.Validate(headers[:tail], 0); err != nil {
		return &failure{Stage: "validate", Index: n, Err: err}
	}
	if err := chain.Write(headers[:tail]); err != nil {
		return &failure{Stage: "write", Err: err}
	}
	seals := []string{"not in this client"} // by frequency
	if client.Seals {
		seals = []string{"none", "all"}
	}
	out := json.NewEncoder(os.Stdout)
	known := false
	for _, m := range mutations {
		if o.Mutate != "all" && o.Mutate != m.field {
			continue
		}
		known = true
		damaged, err := m.apply(raw[len(raw)-1])
		if err != nil {
			return fmt.Errorf("%s: %w", m.field, err)
		}
		for freq, checked := range seals {
			v := verdict{Client: client.Version, Field: m.field, Change: m.change, Seals: checked}
			judge(&v, chain, headers[tail:len(headers)-1], damaged, freq)
			if err := out.Encode(v); err != nil {
				return err
			}
		}
	}
	if !known {
		return fmt.Errorf("-mutate %s: no such field", o.Mutate)
	}
	return nil
}

// judge offers the batch with the damaged header at its end.
func judge[H any](v *verdict, chain Chain[H], intact []H, damaged []byte, freq int) {
	header, err := chain.Decode(damaged)
	if err == nil {
		batch := append(append([]H{}, intact...), header)
		_, err = chain.Validate(batch, freq)
	}
	v.Accepted = err == nil
	if err != nil {
		v.Error = err.Error()
	}
}

// readRaw reads the whole input into memory: it is meant for a few archive files.
func readRaw(o Options) ([][]byte, error) {
	in := newSource(o)
	defer in.Close()
	var all [][]byte
	for {
		raw, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, &failure{Stage: "decode", Index: len(all), Err: err}
		}
		all = append(all, append([]byte{}, raw...))
	}
}

// decodeAll decodes all headers but that of genesis.
func decodeAll[H any](chain Chain[H], raw [][]byte) ([]H, error) {
	var headers []H
	for i, r := range raw {
		header, err := chain.Decode(r)
		if err != nil {
			return nil, &failure{Stage: "decode", Index: i, Err: err}
		}
		if chain.Number(header) > 0 {
			headers = append(headers, header)
		}
	}
	return headers, nil
}
