package main

import (
	"encoding/binary"
	"math/big"

	"github.com/nspcc-dev/neo-go/pkg/core/interop/interopnames"
	"github.com/nspcc-dev/neo-go/pkg/encoding/bigint"
	"github.com/nspcc-dev/neo-go/pkg/util"
	"github.com/nspcc-dev/neo-go/pkg/vm/opcode"
)

// script collects instructions.
type script struct{ code []byte }

// push is what leaves one item on the stack.
type push func(*script)

func (s *script) bytes() []byte { return s.code }

func (s *script) op(op opcode.Opcode, operand ...byte) {
	s.code = append(append(s.code, byte(op)), operand...)
}

func (s *script) push(list ...push) {
	for _, each := range list {
		each(s)
	}
}

// syscall is the instruction of a system call.
func syscall(name string) []byte {
	id := make([]byte, 4)
	binary.LittleEndian.PutUint32(id, interopnames.ToID([]byte(name)))
	return append([]byte{byte(opcode.SYSCALL)}, id...)
}

func (s *script) syscall(name string) { s.code = append(s.code, syscall(name)...) }

// call calls a method of a contract; the result stays on the stack.
func (s *script) call(contract util.Uint160, method string, flags int64, arguments ...push) {
	for i := range arguments {
		s.push(arguments[len(arguments)-1-i])
	}
	s.push(number(int64(len(arguments))))
	s.op(opcode.PACK)
	s.push(number(flags), bytes([]byte(method)), bytes(contract.BytesBE()))
	s.syscall("System.Contract.Call")
}

// guarded runs a body within TRY; what it throws is dropped.
func (s *script) guarded(body []byte) {
	// TRYL, body, ENDTRYL over the handler, which drops and ends
	catch := int32(9 + len(body) + 5)
	s.op(opcode.TRYL, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(catch)), 0)...)
	s.code = append(s.code, body...)
	s.op(opcode.ENDTRYL, binary.LittleEndian.AppendUint32(nil, 5+1+5)...)
	s.op(opcode.DROP)
	s.op(opcode.ENDTRYL, binary.LittleEndian.AppendUint32(nil, 5)...)
}

func null() push { return func(s *script) { s.op(opcode.PUSHNULL) } }

func boolean(value bool) push {
	return func(s *script) {
		if value {
			s.op(opcode.PUSHT)
		} else {
			s.op(opcode.PUSHF)
		}
	}
}

func number(value int64) push { return integer(big.NewInt(value)) }

// integer pushes a number in the shortest form.
func integer(value *big.Int) push {
	return func(s *script) {
		if value.IsInt64() && value.Int64() >= -1 && value.Int64() <= 16 {
			s.op(opcode.Opcode(int64(opcode.PUSH0) + value.Int64()))
			return
		}
		raw := bigint.ToBytes(value)
		width, op := 1, opcode.PUSHINT8
		for width < len(raw) {
			width, op = 2*width, op+1
		}
		sign := byte(0)
		if value.Sign() < 0 {
			sign = 0xff
		}
		for len(raw) < width {
			raw = append(raw, sign)
		}
		s.op(op, raw...)
	}
}

func bytes(value []byte) push {
	return func(s *script) {
		switch n := len(value); {
		case n < 0x100:
			s.op(opcode.PUSHDATA1, byte(n))
		case n < 0x10000:
			s.op(opcode.PUSHDATA2, binary.LittleEndian.AppendUint16(nil, uint16(n))...)
		default:
			s.op(opcode.PUSHDATA4, binary.LittleEndian.AppendUint32(nil, uint32(n))...)
		}
		s.code = append(s.code, value...)
	}
}

func buffer(value []byte) push {
	return func(s *script) {
		s.push(bytes(value))
		s.op(opcode.CONVERT, 0x30)
	}
}

func list(op opcode.Opcode, items ...push) push {
	return func(s *script) {
		for i := range items {
			s.push(items[len(items)-1-i])
		}
		count := len(items)
		if op == opcode.PACKMAP {
			count /= 2
		}
		s.push(number(int64(count)))
		s.op(op)
	}
}

// items draws a random item, with others in it down to a depth.
func (m *maker) item(depth int) push {
	kind := m.IntN(14)
	if depth == 0 {
		kind = m.IntN(9)
	}
	several := func(n int) (all []push) {
		for range n {
			all = append(all, m.item(depth-1))
		}
		return all
	}
	switch kind {
	case 0:
		return null()
	case 1:
		return boolean(m.IntN(2) == 1)
	case 2, 3, 4:
		return integer(m.integer())
	case 5, 6, 7:
		return bytes(m.someBytes())
	case 8:
		return buffer(m.someBytes())
	case 9, 10:
		return list(opcode.PACK, several(m.IntN(5))...)
	case 11:
		return list(opcode.PACKSTRUCT, several(m.IntN(4))...)
	case 12:
		var entries []push
		for range m.IntN(4) {
			entries = append(entries, m.key0(), m.item(depth-1))
		}
		return list(opcode.PACKMAP, entries...)
	default:
		return func(s *script) { s.op(opcode.PUSHA, 0, 0, 0, 0) }
	}
}

// key0 draws what a map takes as a key, most of the time.
func (m *maker) key0() push {
	if m.IntN(20) == 0 {
		return m.item(1)
	}
	if m.IntN(2) == 0 {
		return integer(m.integer())
	}
	return bytes(m.someBytes())
}

// integer draws a number, most of the time one at the edge of something.
func (m *maker) integer() *big.Int {
	switch m.IntN(6) {
	case 0:
		return big.NewInt(int64(m.IntN(7)) - 2)
	case 1:
		return big.NewInt(int64(m.IntN(600)) - 300)
	case 2:
		edge := new(big.Int).Lsh(big.NewInt(1), uint([]int{7, 8, 15, 16, 31, 32, 63, 64, 127, 255}[m.IntN(10)]))
		edge.Add(edge, big.NewInt(int64(m.IntN(3))-1))
		if m.IntN(2) == 0 {
			edge.Neg(edge)
		}
		if edge.BitLen() > 255 {
			edge.Rsh(edge, 1)
		}
		return edge
	case 3:
		return big.NewInt(m.Int64())
	case 4:
		raw := make([]byte, 1+m.IntN(32))
		m.fillBytes(raw)
		return bigint.FromBytes(raw)
	default:
		return big.NewInt(int64(m.IntN(40)))
	}
}

func (m *maker) fillBytes(raw []byte) {
	for i := range raw {
		raw[i] = byte(m.Uint32())
	}
}

// texts that some method reads.
var texts = []string{
	"", "a", "Transfer", "0", "-1", "7b", "0x10", "123456789012345678901234567890", "1e5",
	`{"a":[1,2,{"b":null}],"c":"é\u0000"}`, `[1,2.5]`, `"\ud800"`, `{"a":1,"a":2}`, "null", "true", "[", `{"\u00e9":1e3}`,
	"AQIDBA==", "AQIDBA", "_-8=", "2VfUX", "1", "0OIl", "NXV7ZhHiyM1aHXwpVsRZC6BwNFP2jghXAq",
	"é", "\u2028", "\U0001F600", "\xff\xfe", "neo.com", "a.neo", "*",
}

// someBytes draws bytes: of every length, keys, hashes, texts, points.
func (m *maker) someBytes() []byte {
	switch m.IntN(12) {
	case 0:
		return []byte(texts[m.IntN(len(texts))])
	case 1:
		hash := m.hash160()
		return hash.BytesBE()
	case 2:
		return m.key("account", m.IntN(4)).PublicKey().Bytes()
	case 3:
		raw := m.key("account", m.IntN(4)).PublicKey().Bytes()
		raw[m.IntN(len(raw))] ^= byte(1 << m.IntN(8))
		return raw
	case 4:
		digest := m.array32()
		return m.key("account", m.IntN(4)).SignHash(digest)
	case 5:
		raw := g1()
		if m.IntN(2) == 0 {
			raw = g2()
		}
		if m.IntN(4) == 0 {
			raw[m.IntN(len(raw))] ^= byte(1 << m.IntN(8))
		}
		return raw
	case 6:
		// serialized items
		return [][]byte{{0}, {0x20, 1}, {0x21, 1, 5}, {0x28, 2, 65, 66}, {0x40, 2, 0, 0x21, 0}, {0x41, 0}, {0x48, 1, 0x28, 1, 97, 0}, {0x10, 0}, {0x60}, {0xff}, {0x40, 0xfd, 0, 8}}[m.IntN(11)]
	case 7:
		raw := make([]byte, []int{65, 66, 127, 128, 255, 256, 1000, 1024, 1025, 4096}[m.IntN(10)])
		m.fillBytes(raw)
		return raw
	case 8:
		return make([]byte, m.IntN(40))
	default:
		raw := make([]byte, []int{1, 2, 3, 4, 8, 16, 19, 20, 21, 31, 32, 33, 34, 48, 63, 64}[m.IntN(16)])
		m.fillBytes(raw)
		return raw
	}
}

// script draws the script of a transaction, and a word for what it is about.
func (m *maker) script() ([]byte, string) {
	s := &script{}
	kind := ""
	switch m.IntN(10) {
	case 0, 1:
		kind = "operations"
		s.code = m.operations(1 + m.IntN([]int{3, 6, 25}[m.IntN(3)]))
	case 2:
		kind = "syscalls"
		for range 1 + m.IntN(3) {
			s.code = append(s.code, m.someSyscall()...)
		}
	case 3:
		kind = "deploy"
		m.deploy(s)
	case 4, 5:
		kind = "contract"
		for range 1 + m.IntN(3) {
			m.callContract(s)
		}
	default:
		kind = "native"
		for range 1 + m.IntN(3) {
			m.callNative(s)
		}
	}
	s.op(opcode.RET)
	return s.code, kind
}

// operations draws instructions, with operands for each, so that most do not end with an empty
// stack.
func (m *maker) operations(count int) []byte {
	s := &script{}
	for range count {
		if m.IntN(8) == 0 {
			s.guarded(m.operation())
			continue
		}
		s.code = append(s.code, m.operation()...)
	}
	return s.code
}

// operation draws an instruction and what it takes.
func (m *maker) operation() []byte {
	s := &script{}
	for range m.IntN(4) {
		s.push(m.item(2))
	}
	// sizes and indices that fit more often than not
	if m.IntN(2) == 0 {
		s.push(number(int64(m.IntN(5))))
	}
	switch op := opcode.Opcode(m.IntN(0xe2)); {
	case op <= opcode.PUSHINT256:
		raw := make([]byte, 1<<op)
		m.fillBytes(raw)
		s.op(op, raw...)
	case op >= opcode.PUSHDATA1 && op <= opcode.PUSHDATA4:
		s.push(bytes(m.someBytes()))
	case op >= opcode.JMP && op <= opcode.CALLL:
		// to the next instruction
		if (op-opcode.JMP)%2 == 0 {
			s.op(op, 2)
		} else {
			s.op(op, 5, 0, 0, 0)
		}
	case op == opcode.CALLA:
		s.op(opcode.PUSHA, 6, 0, 0, 0)
		s.op(op)
	case op == opcode.TRY, op == opcode.TRYL, op == opcode.ENDTRY, op == opcode.ENDTRYL, op == opcode.SYSCALL, op == opcode.PUSHA:
		s.code = append(s.code, m.someSyscall()...)
	case op == opcode.CALLT:
		s.op(op, byte(m.IntN(3)), 0)
	case op == opcode.INITSSLOT, op >= opcode.LDSFLD && op <= opcode.STARG && (op-opcode.LDSFLD)%8 == 0:
		s.op(op, byte(m.IntN(4)))
	case op == opcode.INITSLOT:
		s.op(op, byte(m.IntN(3)), byte(m.IntN(3)))
	case op == opcode.ISTYPE, op == opcode.CONVERT, op == opcode.NEWARRAYT:
		s.op(op, []byte{0x10, 0x20, 0x21, 0x28, 0x30, 0x40, 0x41, 0x48, 0x60, 0x00}[m.IntN(10)])
	case op == opcode.ABORT, op == opcode.ABORTMSG, op == opcode.THROW, op == opcode.RET:
		if m.IntN(4) == 0 {
			s.op(op)
		}
	case opcode.IsValid(op):
		s.op(op)
	}
	return s.code
}

// names of system calls, but for what the system itself calls.
var syscalls = []string{
	interopnames.SystemContractCall, interopnames.SystemContractCallNative, interopnames.SystemContractCreateMultisigAccount,
	interopnames.SystemContractCreateStandardAccount, interopnames.SystemContractGetCallFlags, interopnames.SystemCryptoCheckSig,
	interopnames.SystemCryptoCheckMultisig, interopnames.SystemIteratorNext, interopnames.SystemIteratorValue,
	interopnames.SystemRuntimeBurnGas, interopnames.SystemRuntimeCheckWitness, interopnames.SystemRuntimeCurrentSigners,
	interopnames.SystemRuntimeGasLeft, interopnames.SystemRuntimeGetAddressVersion, interopnames.SystemRuntimeGetCallingScriptHash,
	interopnames.SystemRuntimeGetEntryScriptHash, interopnames.SystemRuntimeGetExecutingScriptHash,
	interopnames.SystemRuntimeGetInvocationCounter, interopnames.SystemRuntimeGetNetwork, interopnames.SystemRuntimeGetNotifications,
	interopnames.SystemRuntimeGetRandom, interopnames.SystemRuntimeGetScriptContainer, interopnames.SystemRuntimeGetTime,
	interopnames.SystemRuntimeGetTrigger, interopnames.SystemRuntimeLoadScript, interopnames.SystemRuntimeLog,
	interopnames.SystemRuntimeNotify, interopnames.SystemRuntimePlatform, interopnames.SystemStorageDelete, interopnames.SystemStorageFind,
	interopnames.SystemStorageGet, interopnames.SystemStorageGetContext, interopnames.SystemStorageGetReadOnlyContext,
	interopnames.SystemStorageLocalDelete, interopnames.SystemStorageLocalFind, interopnames.SystemStorageLocalGet,
	interopnames.SystemStorageLocalPut, interopnames.SystemStoragePut, interopnames.SystemStorageAsReadOnly,
}

// someSyscall draws a system call with operands that it may take.
func (m *maker) someSyscall() []byte {
	s := &script{}
	name := syscalls[m.IntN(len(syscalls))]
	if m.IntN(3) == 0 {
		for range m.IntN(5) {
			s.push(m.item(2))
		}
		s.syscall(name)
		return s.code
	}
	key := func() push {
		raw := m.someBytes()
		return bytes(raw[:min(len(raw), 1+m.IntN(66))])
	}
	switch name {
	case interopnames.SystemStoragePut, interopnames.SystemStorageGet, interopnames.SystemStorageDelete, interopnames.SystemStorageFind:
		context := interopnames.SystemStorageGetContext
		if m.IntN(5) == 0 {
			context = interopnames.SystemStorageGetReadOnlyContext
		}
		switch name {
		case interopnames.SystemStoragePut:
			s.push(m.item(1), key())
		case interopnames.SystemStorageFind:
			s.push(number(int64(m.IntN(512))), key())
		default:
			s.push(key())
		}
		s.syscall(context)
		s.syscall(name)
		if name == interopnames.SystemStorageFind {
			m.iterate(s)
		}
	case interopnames.SystemStorageLocalPut:
		s.push(m.item(1), key())
		s.syscall(name)
	case interopnames.SystemStorageLocalFind:
		s.push(number(int64(m.IntN(512))), key())
		s.syscall(name)
		m.iterate(s)
	case interopnames.SystemStorageLocalGet, interopnames.SystemStorageLocalDelete:
		s.push(key())
		s.syscall(name)
	case interopnames.SystemRuntimeNotify:
		s.push(list(opcode.PACK, m.item(2), m.item(1)), bytes([]byte([]string{"Event", "Transfer", "é", ""}[m.IntN(4)])))
		s.syscall(name)
	case interopnames.SystemRuntimeLoadScript:
		s.push(list(opcode.PACK, m.item(1)), number(int64(m.IntN(18))), bytes(m.operations(1+m.IntN(4))))
		s.syscall(name)
	case interopnames.SystemCryptoCheckMultisig:
		s.push(list(opcode.PACK, bytes(m.someBytes()), bytes(m.someBytes())), list(opcode.PACK, bytes(m.someBytes()), bytes(m.someBytes())))
		s.syscall(name)
	case interopnames.SystemContractCreateMultisigAccount:
		var public []push
		for i := range 1 + m.IntN(4) {
			public = append(public, bytes(m.key("account", i).PublicKey().Bytes()))
		}
		s.push(list(opcode.PACK, public...), number(int64(m.IntN(5))))
		s.syscall(name)
	case interopnames.SystemRuntimeGetNotifications, interopnames.SystemRuntimeCheckWitness:
		hash := m.hash160()
		s.push(bytes(hash.BytesBE()))
		s.syscall(name)
	case interopnames.SystemRuntimeBurnGas:
		s.push(integer(m.integer()))
		s.syscall(name)
	default:
		for range m.IntN(3) {
			s.push(m.item(1))
		}
		s.syscall(name)
	}
	return s.code
}

// iterate takes some values of the iterator on the stack.
func (m *maker) iterate(s *script) {
	for range m.IntN(4) {
		s.op(opcode.DUP)
		s.syscall(interopnames.SystemIteratorNext)
		s.op(opcode.DROP)
		s.op(opcode.DUP)
		s.syscall(interopnames.SystemIteratorValue)
		s.op(opcode.SWAP)
	}
}
