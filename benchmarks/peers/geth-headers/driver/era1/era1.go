// Package era1 reads the headers of an era1 archive one after the other.
//
// An era1 file is a sequence of e2store records: type (2 bytes), length (4 bytes), reserved
// (2 bytes), all little endian, then the value. Headers are Snappy frames; every other record is
// skipped unread.
package era1

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"
)

const (
	typeHeader = 0x03
	// maxHeader bounds one header, compressed or not; real ones are below 1 KiB.
	maxHeader = 1 << 16
)

// Reader reads headers from an era1 stream.
type Reader struct {
	in     io.Reader
	record bytes.Reader
	snappy *snappy.Reader
	packed []byte
	header []byte
}

// NewReader returns a reader over in, which should be buffered.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: in, snappy: snappy.NewReader(nil), header: make([]byte, maxHeader+1)}
}

// Next returns the RLP of the next header, valid until the next call, or io.EOF.
func (r *Reader) Next() ([]byte, error) {
	for {
		var prefix [8]byte
		if _, err := io.ReadFull(r.in, prefix[:]); err != nil {
			return nil, err // io.EOF between records is the proper end
		}
		kind := binary.LittleEndian.Uint16(prefix[:])
		size := binary.LittleEndian.Uint32(prefix[2:])
		if kind == typeHeader {
			return r.unpack(size)
		}
		if n, err := io.CopyN(io.Discard, r.in, int64(size)); err != nil {
			return nil, fmt.Errorf("record of type %#x: %d of %d bytes: %w", kind, n, size, cut(err))
		}
	}
}

// unpack reads one compressed header of the given size.
func (r *Reader) unpack(size uint32) ([]byte, error) {
	if size > maxHeader {
		return nil, fmt.Errorf("compressed header of %d bytes, at most %d expected", size, maxHeader)
	}
	if int(size) > cap(r.packed) {
		r.packed = make([]byte, size)
	}
	r.packed = r.packed[:size]
	if _, err := io.ReadFull(r.in, r.packed); err != nil {
		return nil, fmt.Errorf("header: %w", cut(err))
	}
	r.record.Reset(r.packed)
	r.snappy.Reset(&r.record)
	n, err := io.ReadFull(r.snappy, r.header)
	if err == nil {
		return nil, fmt.Errorf("header of more than %d bytes", maxHeader)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("header: %w", err)
	}
	return r.header[:n], nil
}

// cut turns the end of the file inside a record into the error that says so.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
