package main

import (
	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/native/nativehashes"
	"github.com/nspcc-dev/neo-go/pkg/core/state"
	"github.com/nspcc-dev/neo-go/pkg/core/transaction"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/nef"
	"github.com/nspcc-dev/neo-go/pkg/util"
	"github.com/nspcc-dev/neo-go/pkg/vm/opcode"
)

// fixFees adds blocks in which the committee fixes the fee of a method again and again, with calls
// of the method in between. neo-go keeps the first fee in memory until a node is started again
// (docs/neo.md): kinds that end with "_first_fee" are answers of such a node.
func (m *maker) fixFees(reopen func() (*core.Blockchain, error)) error {
	target, deploy := m.targetOfFees()
	set := func(fee int64) push {
		return func(s *script) {
			s.call(nativehashes.PolicyContract, "setWhitelistFeeContract", 15, bytes(target.BytesBE()), bytes([]byte("run")), number(0), number(fee))
		}
	}
	run := func(s *script) { s.call(target, "run", 15) }
	remove := func(s *script) {
		s.call(nativehashes.PolicyContract, "removeWhitelistFeeContract", 15, bytes(target.BytesBE()), bytes([]byte("run")), number(0))
	}
	list := func(s *script) {
		s.call(nativehashes.PolicyContract, "getWhitelistFeeContracts", 15)
		s.op(opcode.DUP)
		s.syscall("System.Iterator.Next")
		s.op(opcode.DROP)
		s.syscall("System.Iterator.Value")
	}
	type step struct {
		kind string
		does []push
	}
	add := func(steps ...step) error {
		var txs []*transaction.Transaction
		for _, each := range steps {
			s := &script{}
			s.push(each.does...)
			s.op(opcode.RET)
			signers := []transaction.Signer{{Account: m.committee.hash, Scopes: transaction.Global}}
			tx := m.sign(s.bytes(), []account{m.committee}, signers, nil)
			m.kinds[tx.Hash()] = each.kind
			txs = append(txs, tx)
		}
		return m.addBlock(txs)
	}
	if err := add(step{"deploy", []push{deploy}}, step{"call", []push{run}}); err != nil {
		return err
	}
	if err := add(step{"set", []push{set(1000)}}, step{"call", []push{run}}, step{"set_the_same", []push{set(1000)}}, step{"call", []push{run}}); err != nil {
		return err
	}
	if err := add(step{"set_again", []push{set(5_000_000)}}, step{"call_first_fee", []push{run}}, step{"list_first_fee", []push{list}}); err != nil {
		return err
	}
	chain, err := reopen()
	if err != nil {
		return err
	}
	m.chain = chain
	if err := add(step{"call_after_a_start", []push{run}}, step{"list_after_a_start", []push{list}}); err != nil {
		return err
	}
	if err := add(step{"remove", []push{remove}}, step{"call", []push{run}}, step{"set_after_removal", []push{set(7_000_000)}}, step{"call", []push{run}}, step{"list", []push{list}}); err != nil {
		return err
	}
	// twice in one transaction, with calls
	return add(step{"set_twice_first_fee", []push{set(8_000_000), run, set(9_000_000), run}}, step{"set_too_low", []push{set(-1)}}, step{"list_first_fee", []push{list}})
}

// targetOfFees is a contract with a method of some instructions, and what deploys it.
func (m *maker) targetOfFees() (util.Uint160, push) {
	s := &script{}
	for range 50 {
		s.op(opcode.PUSH1)
		s.op(opcode.DROP)
	}
	s.op(opcode.PUSH2)
	s.op(opcode.RET)
	file, err := nef.NewFile(s.code)
	if err != nil {
		panic(err)
	}
	raw, err := file.Bytes()
	if err != nil {
		panic(err)
	}
	const name = "fees"
	manifest := `{"name":"fees","groups":[],"features":{},"supportedstandards":[],"abi":{"methods":[{"name":"run","offset":0,"parameters":[],"returntype":"Integer","safe":false}],"events":[]},"permissions":[],"trusts":[],"extra":null}`
	hash := state.CreateContractHash(m.committee.hash, file.Checksum, name)
	return hash, func(s *script) {
		s.call(nativehashes.ContractManagement, "deploy", 15, bytes(raw), bytes([]byte(manifest)))
	}
}
