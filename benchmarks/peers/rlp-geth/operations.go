package main

import (
	"bytes"
	"strconv"
	"sync"

	"blockmill/measure"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

// answer is what an operation gives.
type answer struct {
	bytes  int           // of the encoding; with hash-each the sum over all objects
	digest hexutil.Bytes // of the encoding; with hash-each that of all hashes
}

func (a answer) texts() map[string]string {
	return map[string]string{"bytes": strconv.Itoa(a.bytes), "digest": a.digest.String()}
}

// run measures what the arguments name.
func run(a arguments) (measure.Line, answer, error) {
	if a.op == "hash-each" {
		objects := make([]any, a.count)
		for i := range objects {
			if a.kind == "headers" {
				objects[i] = header(i)
			} else {
				objects[i] = transaction(i)
			}
		}
		return hashEach(objects, a.sampling)
	}
	return whole(object(a.kind, a.count), a.op, a.sampling)
}

// object is that of a case which is encoded or hashed as a whole.
func object(kind string, count int) any {
	switch kind {
	case "transaction":
		return transaction(0)
	case "header":
		return header(0)
	case "transactions":
		return transactions(count)
	default:
		return block(count)
	}
}

// whole encodes or hashes one object as a whole.
func whole(object any, op string, sampling sampling) (measure.Line, answer, error) {
	var (
		encoded []byte
		hash    common.Hash
		kept    = newEncoder()
		hasher  = crypto.NewKeccakState()
		c       measure.Line
		err     error
	)
	switch op {
	case "encode":
		c, err = sampling.measure(func() { encoded = encode(object) })
	case "encode-reused":
		c, err = sampling.measure(func() { encoded = kept.encode(object) })
	case "hash":
		c, err = sampling.measure(func() { hash = pooledHash(object) })
	case "hash-reused":
		c, err = sampling.measure(func() { keccak(hasher, kept.encode(object), &hash) })
	}
	length := len(encode(object))
	if op == "encode" || op == "encode-reused" {
		hash = crypto.Keccak256Hash(encoded)
	}
	return c, answer{length, hash[:]}, err
}

// hashEach hashes objects one by one.
func hashEach(objects []any, sampling sampling) (measure.Line, answer, error) {
	var (
		hashes = make([]common.Hash, len(objects))
		kept   = newEncoder()
		hasher = crypto.NewKeccakState()
	)
	c, err := sampling.measure(func() {
		for i, object := range objects {
			keccak(hasher, kept.encode(object), &hashes[i])
		}
	})
	var (
		length       int
		concatenated bytes.Buffer
	)
	for i, object := range objects {
		length += len(encode(object))
		concatenated.Write(hashes[i][:])
	}
	return c, answer{length, crypto.Keccak256(concatenated.Bytes())}, err
}

// encode returns the RLP in a fresh buffer.
func encode(object any) []byte {
	encoded, err := rlp.EncodeToBytes(object)
	if err != nil {
		panic(err) // the objects are ours
	}
	return encoded
}

// encoder encodes into a buffer that is kept. The rlp package makes its own buffers out of a pool;
// an EncoderBuffer holds on to one of them, which is quicker than rlp.Encode into a bytes.Buffer.
type encoder struct {
	work rlp.EncoderBuffer
	out  []byte
}

func newEncoder() *encoder {
	return &encoder{work: rlp.NewEncoderBuffer(nil)}
}

// encode returns the RLP, which holds until the next call.
func (e *encoder) encode(object any) []byte {
	e.work.Reset(nil)
	if err := rlp.Encode(&e.work, object); err != nil {
		panic(err) // the objects are ours
	}
	e.out = e.work.AppendToBytes(e.out[:0])
	return e.out
}

// hashers are the Keccak states that pooledHash takes in turn.
var hashers = sync.Pool{New: func() any { return crypto.NewKeccakState() }}

// pooledHash hashes as Header.Hash and Transaction.Hash do, by a function that core/types keeps to
// itself: the encoding flows into a Keccak state of a pool.
func pooledHash(object any) (hash common.Hash) {
	hasher := hashers.Get().(crypto.KeccakState)
	defer hashers.Put(hasher)
	hasher.Reset()
	rlp.Encode(hasher, object)
	hasher.Read(hash[:])
	return hash
}

// keccak hashes data with a Keccak state that is kept.
func keccak(hasher crypto.KeccakState, data []byte, hash *common.Hash) {
	hasher.Reset()
	hasher.Write(data)
	hasher.Read(hash[:])
}
