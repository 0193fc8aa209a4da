package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nspcc-dev/neo-go/pkg/core/native/nativehashes"
	"github.com/nspcc-dev/neo-go/pkg/core/state"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/callflag"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/nef"
	"github.com/nspcc-dev/neo-go/pkg/vm/opcode"
)

// method is one of a contract that was deployed.
type method struct {
	name       string
	parameters int
	offset     int
}

// generators of BLS12-381, compressed.
func g1() []byte {
	raw, _ := hex.DecodeString("97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb")
	return raw
}

func g2() []byte {
	raw, _ := hex.DecodeString("93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8")
	return raw
}

// flags draws what a call is allowed, most of the time everything.
func (m *maker) flags() int64 {
	if m.IntN(15) == 0 {
		return int64(m.IntN(18))
	}
	return 15
}

// callNative calls a method of a native contract, with arguments of its types or others.
func (m *maker) callNative(s *script) {
	native := m.natives[m.IntN(len(m.natives))]
	methods := native.Manifest.ABI.Methods
	if len(methods) == 0 {
		return
	}
	method := methods[m.IntN(len(methods))]
	var arguments []push
	for _, parameter := range method.Parameters {
		arguments = append(arguments, m.argument(parameter.Type))
	}
	if m.IntN(25) == 0 {
		arguments = append(arguments, m.item(1))
	}
	if method.Name == "base58CheckEncode" && len(arguments) > 0 {
		// neo-go appends to a part of the script where the bytes are a literal (docs/neo.md)
		arguments[0] = copied(m.someBytes())
	}
	body := &script{}
	body.call(native.Hash, method.Name, m.flags(), arguments...)
	switch m.IntN(4) {
	case 0:
		s.guarded(body.code)
	case 1:
		s.code = append(s.code, body.code...)
		if method.ReturnType != smartcontract.VoidType {
			s.op([]opcode.Opcode{opcode.DROP, opcode.DUP, opcode.ISNULL, opcode.SIZE}[m.IntN(4)])
		}
	default:
		s.code = append(s.code, body.code...)
	}
	if method.ReturnType == smartcontract.InteropInterfaceType && strings.HasPrefix(method.Name, "get") && m.IntN(2) == 0 {
		m.iterate(s)
	}
}

// copied pushes bytes that are no part of the script.
func copied(value []byte) push {
	return func(s *script) {
		s.push(bytes(value), bytes(nil))
		s.op(opcode.CAT)
		s.op(opcode.CONVERT, 0x28)
	}
}

// argument draws one of a type, in one of twelve of another.
func (m *maker) argument(kind smartcontract.ParamType) push {
	if m.IntN(25) == 0 {
		return m.item(2)
	}
	switch kind {
	case smartcontract.BoolType:
		return boolean(m.IntN(2) == 1)
	case smartcontract.IntegerType:
		if m.IntN(3) == 0 {
			return integer(m.integer())
		}
		return number(int64(m.IntN([]int{3, 20, 100}[m.IntN(3)])))
	case smartcontract.Hash160Type:
		hash := m.hash160()
		return bytes(hash.BytesBE())
	case smartcontract.Hash256Type:
		if m.IntN(2) == 0 {
			hash := m.last.Hash()
			return bytes(hash.BytesBE())
		}
		hash := m.array32()
		return bytes(hash[:])
	case smartcontract.StringType:
		return bytes([]byte(texts[m.IntN(len(texts))]))
	case smartcontract.PublicKeyType:
		return bytes(m.key("account", m.IntN(5)).PublicKey().Bytes())
	case smartcontract.SignatureType:
		raw := make([]byte, 64)
		m.fillBytes(raw)
		return bytes(raw)
	case smartcontract.ArrayType:
		if m.IntN(3) == 0 {
			return list(opcode.PACK, bytes(m.key("account", 1).PublicKey().Bytes()), bytes(m.key("account", 2).PublicKey().Bytes()))
		}
		return list(opcode.PACK, m.item(1), m.item(1))
	case smartcontract.InteropInterfaceType:
		point := g1()
		if m.IntN(3) == 0 {
			point = g2()
		}
		return func(s *script) { s.call(nativehashes.CryptoLib, "bls12381Deserialize", 15, bytes(point)) }
	case smartcontract.ByteArrayType:
		return bytes(m.someBytes())
	default:
		return m.item(2)
	}
}

// callContract calls a method of a contract that was deployed, or may have been.
func (m *maker) callContract(s *script) {
	if len(m.contracts) == 0 {
		m.callNative(s)
		return
	}
	contract := m.contracts[m.IntN(len(m.contracts))]
	method := contract.methods[m.IntN(len(contract.methods))]
	var arguments []push
	for range method.parameters {
		arguments = append(arguments, m.item(2))
	}
	body := &script{}
	body.call(contract.hash, method.name, m.flags(), arguments...)
	if m.IntN(4) == 0 {
		s.guarded(body.code)
		return
	}
	s.code = append(s.code, body.code...)
}

// deploy deploys a contract of random methods with a random manifest, or changes one.
func (m *maker) deploy(s *script) {
	file, methods := m.contractFile()
	name := fmt.Sprintf("contract%d", len(m.contracts))
	text := m.manifest(name, methods)
	raw, err := file.Bytes()
	if err != nil {
		return
	}
	if m.IntN(20) == 0 {
		raw[m.IntN(len(raw))] ^= byte(1 << m.IntN(8))
	}
	arguments := []push{bytes(raw), bytes(text)}
	if m.IntN(3) == 0 {
		arguments = append(arguments, m.item(1))
	}
	s.call(nativehashes.ContractManagement, "deploy", 15, arguments...)
	hash := state.CreateContractHash(m.sender.hash, file.Checksum, name)
	m.contracts = append(m.contracts, contract{hash, methods})
	m.contracts = m.contracts[max(0, len(m.contracts)-20):]
}

// contractFile draws methods one after the other.
func (m *maker) contractFile() (*nef.File, []method) {
	s := &script{}
	var methods []method
	names := []string{"verify", "onNEP17Payment", "_deploy", "_initialize", "run", "put", "other", "onNEP11Payment"}
	for _, i := range m.Perm(len(names))[:1+m.IntN(5)] {
		parameters := []int{0, 3, 2, 0, m.IntN(3), 0, 1, 4}[i]
		methods = append(methods, method{names[i], parameters, len(s.code)})
		if parameters > 0 {
			s.op(opcode.INITSLOT, byte(m.IntN(3)), byte(parameters))
		}
		for range m.IntN(3) {
			switch m.IntN(6) {
			case 0:
				s.code = append(s.code, m.operation()...)
			case 1:
				m.callNative(s)
				s.op(opcode.DROP)
			case 2:
				m.callContract(s)
			case 3:
				// the end of itself
				s.push(null(), null())
				s.call(nativehashes.ContractManagement, []string{"destroy", "update"}[m.IntN(2)], 15)
			default:
				s.code = append(s.code, m.someSyscall()...)
			}
		}
		if m.IntN(2) == 0 {
			s.op(opcode.CLEAR)
			s.push(m.item(1))
		}
		s.op(opcode.RET)
	}
	file, err := nef.NewFile(s.code)
	if err != nil {
		panic(err)
	}
	if m.IntN(3) == 0 {
		native := m.natives[m.IntN(len(m.natives))]
		if all := native.Manifest.ABI.Methods; len(all) > 0 {
			target := all[m.IntN(len(all))]
			file.Tokens = append(file.Tokens, nef.MethodToken{
				Hash: native.Hash, Method: target.Name, ParamCount: uint16(len(target.Parameters)),
				HasReturn: target.ReturnType != smartcontract.VoidType, CallFlag: callflag.All,
			})
		}
		file.Checksum = file.CalculateChecksum()
	}
	return file, methods
}

// manifest draws a manifest: often one part of it is odd.
func (m *maker) manifest(name string, methods []method) []byte {
	types := []string{"Any", "Void", "Boolean", "Integer", "ByteArray", "String", "Hash160", "Array", "Map", "InteropInterface"}
	var list []string
	for _, method := range methods {
		var parameters []string
		for i := range method.parameters {
			kind := types[m.IntN(len(types))]
			if kind == "Void" && m.IntN(20) > 0 {
				kind = "Any"
			}
			parameters = append(parameters, fmt.Sprintf(`{"name":"p%d","type":"%s"}`, i, kind))
		}
		returns := types[m.IntN(len(types))]
		if strings.HasPrefix(method.name, "_") || strings.HasPrefix(method.name, "on") {
			returns = "Void"
		}
		list = append(list, fmt.Sprintf(`{"name":"%s","offset":%d,"parameters":[%s],"returntype":"%s","safe":%v}`,
			method.name, method.offset, strings.Join(parameters, ","), returns, m.IntN(5) == 0))
	}
	parts := map[string]string{
		"name":               `"` + name + `"`,
		"groups":             "[]",
		"features":           "{}",
		"supportedstandards": "[]",
		"abi":                `{"methods":[` + strings.Join(list, ",") + `],"events":[{"name":"Event","parameters":[{"name":"a","type":"Any"},{"name":"b","type":"Any"}]}]}`,
		"permissions":        `[{"contract":"*","methods":"*"}]`,
		"trusts":             "[]",
		"extra":              "null",
	}
	key := m.key("account", m.IntN(4)).PublicKey().StringCompressed()
	odd := map[string][]string{
		"name":               {`""`, `"é"`, `"a\u0062"`, `null`, `1`},
		"groups":             {"null", "{}", `[{"pubkey":"` + key + `","signature":"AAAA"}]`, "[null]"},
		"features":           {"null", `{"a":1}`, "[]", "{ }"},
		"supportedstandards": {`["NEP-17"]`, `["NEP-17","NEP-17"]`, "null", `[""]`, `["\u00e9"]`},
		"abi":                {"null", "{}", `{"methods":[],"events":[]}`},
		"permissions":        {"[]", "null", `[{"contract":"*","methods":[]}]`, `[{"contract":"*","methods":["a","b"]}]`, `[{"contract":"` + key + `","methods":"*"}]`, `[{"contract":"0xef4073a0f2b305a38ec4050e4d3d28bc40ea63f5","methods":["transfer"]}]`, `[{"contract":"*","methods":"*"},{"contract":"*","methods":"*"}]`},
		"trusts":             {`"*"`, `["*"]`, "null", `["` + key + `"]`, `["0xef4073a0f2b305a38ec4050e4d3d28bc40ea63f5"]`, `"x"`},
		"extra":              {`"é"`, `{"a":"\u00e9\ud83d\ude00"}`, `[1,2.50,1e3,-0]`, `"\u0085\u2028<>&+'"`, `{"b":1,"a":2}`, `"\ud800"`, `{}`, `12345678901234567890`, `"/"`, "1e400", `"\u007f\u0001\b\f"`},
	}
	if m.IntN(3) == 0 {
		fields := []string{"name", "groups", "features", "supportedstandards", "abi", "permissions", "trusts", "extra", "extra", "extra"}
		field := fields[m.IntN(len(fields))]
		parts[field] = odd[field][m.IntN(len(odd[field]))]
	}
	if m.IntN(20) == 0 {
		delete(parts, []string{"name", "groups", "features", "abi", "extra", "trusts"}[m.IntN(6)])
	}
	var fields []string
	for _, field := range []string{"name", "groups", "features", "supportedstandards", "abi", "permissions", "trusts", "extra"} {
		if value, ok := parts[field]; ok {
			fields = append(fields, `"`+field+`":`+value)
		}
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}
