package driver

import (
	"bytes"
	"io"
	"testing"
)

// header is a list of fifteen fields with the sizes of a real one.
func header() []byte {
	var body []byte
	for place := range 15 {
		size := 32
		switch place {
		case 2:
			size = 20
		case 6:
			size = 256
		case 7, 8, 9, 11:
			size = 5
		case 10:
			size = 0
		case 14:
			size = 8
		}
		body = appendItem(body, 0x80, bytes.Repeat([]byte{byte(place + 1)}, size))
	}
	return appendItem(nil, 0xc0, body)
}

func TestMutationChangesOneFieldOnly(t *testing.T) {
	intact := header()
	for _, m := range mutations {
		damaged, err := m.apply(intact)
		if err != nil {
			t.Fatalf("%s: %v", m.field, err)
		}
		if same := bytes.Equal(damaged, intact); same != (m.field == "none") {
			t.Errorf("%s, %s: header unchanged is %v", m.field, m.change, same)
		}
		before, _, _ := split(intact)
		after, rest, err := split(damaged)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%s: %v, %d bytes follow", m.field, err, len(rest))
		}
		for place := 0; len(before) > 0; place++ {
			var a, b []byte
			a, before, _ = split(before)
			if b, after, err = split(after); err != nil {
				t.Fatalf("%s: field %d: %v", m.field, place, err)
			}
			if place != m.place && !bytes.Equal(a, b) {
				t.Errorf("%s: field %d changed too", m.field, place)
			}
		}
	}
}

func TestSplitterRejectsEveryCutHeader(t *testing.T) {
	whole := header()
	for cut := 1; cut < len(whole); cut++ {
		if _, err := (&splitter{in: bytes.NewReader(whole[:cut])}).Next(); err == nil || err == io.EOF {
			t.Fatalf("header of %d bytes cut at %d: error %v", len(whole), cut, err)
		}
	}
	in := &splitter{in: bytes.NewReader(append(whole, whole...))}
	for range 2 {
		if raw, err := in.Next(); err != nil || !bytes.Equal(raw, whole) {
			t.Fatalf("%d bytes, %v", len(raw), err)
		}
	}
	if _, err := in.Next(); err != io.EOF {
		t.Fatalf("end of the stream: %v", err)
	}
}
