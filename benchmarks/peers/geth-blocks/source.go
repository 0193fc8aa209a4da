package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/golang/snappy"
)

// Records of an era1 file that matter here.
const (
	typeHeader = 0x03
	typeBody   = 0x04
)

// source gives the blocks of the input one after the other; io.EOF behind the last one.
type source interface {
	next() (*types.Block, error)
}

// openSource opens the input.
func openSource(o options) (source, error) {
	if o.RLP != "" {
		return openExport(o.RLP)
	}
	return &eras{left: o.Eras}, nil
}

// export is a file of blocks in RLP.
type export struct{ stream *rlp.Stream }

func openExport(path string) (*export, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &export{rlp.NewStream(bufio.NewReaderSize(file, 1<<20), 0)}, nil
}

// exported is a block of an export, with its access list from Amsterdam on.
type exported struct {
	Header      *types.Header
	Txs         []*types.Transaction
	Uncles      []*types.Header
	Withdrawals []*types.Withdrawal  `rlp:"optional"`
	AccessList  *bal.BlockAccessList `rlp:"optional"`
}

func (e *export) next() (*types.Block, error) {
	var raw exported
	if err := e.stream.Decode(&raw); err != nil {
		return nil, err
	}
	body := types.Body{Transactions: raw.Txs, Uncles: raw.Uncles, Withdrawals: raw.Withdrawals}
	block := types.NewBlockWithHeader(raw.Header).WithBody(body)
	if raw.AccessList != nil {
		block = block.WithAccessListUnsafe(raw.AccessList)
	}
	return block, nil
}

// eras are era1 files: records of a type (2 bytes), a length (4 bytes) and 2 bytes more, little
// endian, then the value, a Snappy frame for headers and bodies.
type eras struct {
	left   []string
	in     *bufio.Reader
	header *types.Header
}

func (e *eras) next() (*types.Block, error) {
	for {
		if e.in == nil {
			if len(e.left) == 0 {
				return nil, io.EOF
			}
			file, err := os.Open(e.left[0])
			if err != nil {
				return nil, err
			}
			e.left, e.in = e.left[1:], bufio.NewReaderSize(file, 1<<20)
		}
		block, err := e.record()
		if errors.Is(err, io.EOF) {
			e.in = nil
			continue
		}
		if block != nil || err != nil {
			return block, err
		}
	}
}

// record reads one record; a block where it is the body of one.
func (e *eras) record() (*types.Block, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(e.in, prefix[:]); err != nil {
		return nil, err // io.EOF between records is the proper end
	}
	value := make([]byte, binary.LittleEndian.Uint32(prefix[2:]))
	if _, err := io.ReadFull(e.in, value); err != nil {
		return nil, fmt.Errorf("a record that is cut off: %w", io.ErrUnexpectedEOF)
	}
	kind := binary.LittleEndian.Uint16(prefix[:])
	if kind != typeHeader && kind != typeBody {
		return nil, nil
	}
	raw, err := io.ReadAll(snappy.NewReader(bytes.NewReader(value)))
	if err != nil {
		return nil, err
	}
	if kind == typeHeader {
		e.header = new(types.Header)
		return nil, rlp.DecodeBytes(raw, e.header)
	}
	var body types.Body
	if err := rlp.DecodeBytes(raw, &body); err != nil {
		return nil, err
	}
	return types.NewBlockWithHeader(e.header).WithBody(body), nil
}

// batch reads up to limit blocks; the genesis block is skipped. It is empty at the end.
func batch(in source, limit int) ([]*types.Block, error) {
	blocks := make([]*types.Block, 0, limit)
	for len(blocks) < limit {
		block, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		if block.NumberU64() > 0 {
			blocks = append(blocks, block)
		}
	}
	return blocks, nil
}
