package driver

import (
	"errors"
	"fmt"
	"math/big"
)

// mutation damages one field of a header, given by its place in the RLP list.
type mutation struct {
	field  string
	change string
	place  int
	edit   func(value []byte) []byte
}

// mutations holds the control and each field of a proof-of-work header. A changed bit of a number
// can stay within the rule for it, so the numbers with a bound also have a value beyond it.
var mutations = []mutation{
	{"none", "nothing", 0, keep},
	{"parent-hash", "one bit", 0, lastBit},
	{"ommers-hash", "one bit", 1, lastBit},
	{"coinbase", "one bit", 2, lastBit},
	{"state-root", "one bit", 3, lastBit},
	{"transactions-root", "one bit", 4, lastBit},
	{"receipts-root", "one bit", 5, lastBit},
	{"bloom", "one bit", 6, lastBit},
	{"difficulty", "one bit", 7, lastBit},
	{"number", "one bit", 8, lastBit},
	{"gas-limit", "one bit", 9, lastBit},
	{"gas-limit", "doubled", 9, double},
	{"gas-used", "one bit", 10, lastBit},
	{"gas-used", "above any limit", 10, set(0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
	{"time", "one bit", 11, lastBit},
	{"time", "before the parent", 11, set(1)},
	{"extra-data", "one bit", 12, lastBit},
	{"extra-data", "33 bytes", 12, set(make([]byte, 33)...)},
	{"mix-digest", "one bit", 13, lastBit},
	{"nonce", "one bit", 14, lastBit},
}

func keep(value []byte) []byte { return value }

// set replaces the value.
func set(value ...byte) func([]byte) []byte { return func([]byte) []byte { return value } }

// lastBit flips the lowest bit; an empty value (the number zero) becomes one.
func lastBit(value []byte) []byte {
	if len(value) == 0 {
		return []byte{1}
	}
	out := append([]byte{}, value...)
	out[len(out)-1] ^= 1
	return out
}

// double doubles a number.
func double(value []byte) []byte {
	n := new(big.Int).SetBytes(value)
	return n.Lsh(n, 1).Bytes()
}

// apply returns the header with the field changed, and the lengths around it made right.
func (m mutation) apply(header []byte) ([]byte, error) {
	fields, rest, err := split(header)
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(err, errors.New("header is not one RLP list"))
	}
	var body []byte
	for place := 0; len(fields) > 0; place++ {
		value, next, err := split(fields)
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", place, err)
		}
		if place == m.place {
			value = m.edit(value)
		}
		body, fields = appendItem(body, 0x80, value), next
	}
	return appendItem(nil, 0xc0, body), nil
}

// split takes the first RLP item off data: what it holds, and what follows it.
func split(data []byte) (value, rest []byte, err error) {
	if len(data) == 0 {
		return nil, nil, errors.New("RLP item expected, found the end")
	}
	first := int(data[0])
	if first < 0x80 {
		return data[:1], data[1:], nil
	}
	skip, size := 1, (first-0x80)%0x40
	if size > 55 {
		skip += size - 55
		if skip > len(data) || skip > 4 {
			return nil, nil, errors.New("RLP length out of bounds")
		}
		size = 0
		for _, b := range data[1:skip] {
			size = size<<8 | int(b)
		}
	}
	if size > len(data)-skip {
		return nil, nil, errors.New("RLP item cut short")
	}
	return data[skip : skip+size], data[skip+size:], nil
}

// appendItem appends a value as an RLP string (base 0x80) or list (base 0xc0).
func appendItem(out []byte, base int, value []byte) []byte {
	switch n := len(value); {
	case n == 1 && base == 0x80 && value[0] < 0x80:
		return append(out, value[0])
	case n <= 55:
		out = append(out, byte(base+n))
	case n <= 0xff:
		out = append(out, byte(base+56), byte(n))
	default: // a header and its bloom are below 64 KiB
		out = append(out, byte(base+57), byte(n>>8), byte(n))
	}
	return append(out, value...)
}
