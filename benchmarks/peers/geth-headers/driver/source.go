package driver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"blockmill/geth-headers/driver/era1"
)

// maxHeader bounds one header of a stream; real ones are below 1 KiB.
const maxHeader = 1 << 16

// source yields the RLP of one header after the other, across files, and io.EOF at the end.
type source struct {
	paths []string
	open  func(io.Reader) func() ([]byte, error)
	file  *os.File
	next  func() ([]byte, error)
}

// newSource reads the era1 files, or else the stream of concatenated headers.
func newSource(o Options) *source {
	if len(o.Eras) > 0 {
		return &source{paths: o.Eras, open: func(in io.Reader) func() ([]byte, error) {
			return era1.NewReader(in).Next
		}}
	}
	return &source{paths: []string{o.Stream}, open: func(in io.Reader) func() ([]byte, error) {
		return (&splitter{in: in}).Next
	}}
}

// Next returns the RLP of the next header, valid until the next call.
func (s *source) Next() ([]byte, error) {
	for {
		if s.file == nil {
			if len(s.paths) == 0 {
				return nil, io.EOF
			}
			file, err := os.Open(s.paths[0])
			if err != nil {
				return nil, err
			}
			s.file, s.next = file, s.open(bufio.NewReaderSize(file, 1<<20))
		}
		raw, err := s.next()
		if err == nil {
			return raw, nil
		}
		s.file.Close()
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", s.paths[0], err)
		}
		s.file, s.paths = nil, s.paths[1:]
	}
}

// Close releases the file that is open, if any.
func (s *source) Close() {
	if s.file != nil {
		s.file.Close()
	}
}

// splitter cuts concatenated RLP lists apart.
type splitter struct {
	in  io.Reader
	buf []byte
}

// Next returns the next list with its prefix.
func (s *splitter) Next() ([]byte, error) {
	s.buf = append(s.buf[:0], 0)
	if _, err := io.ReadFull(s.in, s.buf); err != nil {
		return nil, err
	}
	size := int(s.buf[0]) - 0xc0
	if size < 0 {
		return nil, fmt.Errorf("byte %#x where a list should begin", s.buf[0])
	}
	if size > 55 { // the prefix is followed by the length, big endian
		if err := s.more(size - 55); err != nil {
			return nil, err
		}
		size = 0
		for _, b := range s.buf[1:] {
			if size = size<<8 | int(b); size > maxHeader {
				return nil, fmt.Errorf("header of more than %d bytes", maxHeader)
			}
		}
	}
	return s.buf, s.more(size)
}

// more appends n bytes of the input to the buffer.
func (s *splitter) more(n int) error {
	have := len(s.buf)
	s.buf = append(s.buf, make([]byte, n)...)
	if _, err := io.ReadFull(s.in, s.buf[have:]); err != nil {
		return fmt.Errorf("header cut short: %w", io.ErrUnexpectedEOF)
	}
	return nil
}
