package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nspcc-dev/neo-go/pkg/config"
	"github.com/nspcc-dev/neo-go/pkg/config/netmode"
	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/block"
	"github.com/nspcc-dev/neo-go/pkg/core/native/nativehashes"
	"github.com/nspcc-dev/neo-go/pkg/core/state"
	"github.com/nspcc-dev/neo-go/pkg/core/transaction"
	"github.com/nspcc-dev/neo-go/pkg/crypto/hash"
	"github.com/nspcc-dev/neo-go/pkg/crypto/keys"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/trigger"
	"github.com/nspcc-dev/neo-go/pkg/util"
	"github.com/nspcc-dev/neo-go/pkg/vm/opcode"
	"github.com/nspcc-dev/neo-go/pkg/vm/vmstate"
)

const (
	magic = netmode.Magic(56753)
	// fee is a network fee that pays for any witness and any size.
	fee = 20_0000_0000
	// begin is the time of the first block, in milliseconds.
	begin = uint64(1640995200000)
)

// maker draws a chain.
type maker struct {
	*rand.Rand
	chain     *core.Blockchain
	validator *keys.PrivateKey
	committee account // the validator's multisignature account
	accounts  []account
	sender    account // of the transaction that is drawn
	contracts []contract
	natives   []state.Contract
	last      *block.Block
	nonce     uint32
	kinds     map[util.Uint256]string
	made      int
	faults    int
	refused   int
}

// contract is one that was deployed, or may have been.
type contract struct {
	hash    util.Uint160
	methods []method
}

func newMaker(seed uint64) *maker {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 36)), kinds: map[util.Uint256]string{}}
	m.validator = m.key("validator", 0)
	return m
}

// key is a key that only its name decides on.
func (m *maker) key(name string, number int) *keys.PrivateKey {
	digest := sha256.Sum256(fmt.Appendf(nil, "random/%s/%d", name, number))
	key, err := keys.NewPrivateKeyFromBytes(digest[:])
	if err != nil {
		panic(err)
	}
	return key
}

// configuration is that of the network: in half of the chains hardforks come one after the other.
func (m *maker) configuration() string {
	forks, at := strings.Builder{}, 0
	staggered := m.IntN(2) == 1
	for _, fork := range config.StableHardforks {
		if staggered {
			at += m.IntN(4)
		}
		fmt.Fprintf(&forks, "    %s: %d\n", fork, at)
	}
	return fmt.Sprintf(`ProtocolConfiguration:
  Magic: %d
  MaxTraceableBlocks: %d
  MaxValidUntilBlockIncrement: 5760
  MaxTransactionsPerBlock: 5000
  MaxBlockSize: 16777216
  MaxBlockSystemFee: 900000000000000
  MemPoolSize: 50000
  TimePerBlock: 1s
  StandbyCommittee:
    - %x
  ValidatorsCount: 1
  SeedList: []
  StateRootInHeader: %v
  VerifyTransactions: true
  P2PSigExtensions: false
  Hardforks:
%sApplicationConfiguration:
  SkipBlockVerification: false
  DBConfiguration:
    Type: "inmemory"
`, uint32(magic), []int{2102400, 7}[m.IntN(2)], m.validator.PublicKey().Bytes(), m.IntN(2) == 1, forks.String())
}

// fill adds blocks of random transactions to a new chain.
func (m *maker) fill(chain *core.Blockchain, blocks, txs int) error {
	m.chain = chain
	m.natives = chain.GetNatives()
	var err error
	if m.last, err = chain.GetBlock(chain.GetHeaderHash(0)); err != nil {
		return err
	}
	script, err := smartcontract.CreateDefaultMultiSigRedeemScript(keys.PublicKeys{m.validator.PublicKey()})
	if err != nil {
		return err
	}
	m.committee = multisig(script, 1, m.validator)
	m.makeAccounts()
	if err := m.setUp(); err != nil {
		return err
	}
	for range blocks {
		var list []*transaction.Transaction
		for tries := 0; len(list) < txs && tries < 3*txs; tries++ {
			if tx := m.transaction(); tx != nil {
				list = append(list, tx)
			}
		}
		if err := m.addBlock(list); err != nil {
			return err
		}
	}
	return nil
}

// setUp gives every account GAS and NEO.
func (m *maker) setUp() error {
	s := &script{}
	for _, account := range m.accounts {
		for _, each := range []struct {
			token  util.Uint160
			amount int64
		}{{nativehashes.GasToken, 500_000_0000_0000}, {nativehashes.NeoToken, 1_000_000}} {
			s.call(each.token, "transfer", 15, bytes(m.committee.hash[:]), bytes(account.hash[:]), number(each.amount), null())
			s.op(opcode.ASSERT)
		}
	}
	tx := m.sign(s.bytes(), []account{m.committee}, []transaction.Signer{{Account: m.committee.hash, Scopes: transaction.Global}}, nil)
	return m.addBlock([]*transaction.Transaction{tx})
}

// transaction draws one that neo-go accepts; nil where it does not.
func (m *maker) transaction() *transaction.Transaction {
	order := m.Perm(len(m.accounts))
	m.sender = m.accounts[order[0]]
	script, kind := m.script()
	count := 1
	if m.IntN(4) == 0 {
		count += m.IntN(3)
	}
	var who []account
	var signers []transaction.Signer
	for _, i := range order[:count] {
		who = append(who, m.accounts[i])
	}
	if m.IntN(5) == 0 {
		who = append(who, m.committee)
	}
	for _, account := range who {
		signers = append(signers, m.signer(account.hash))
	}
	tx := m.sign(script, who, signers, m.attributes())
	if tx == nil || m.chain.VerifyTx(tx) != nil {
		m.refused++
		return nil
	}
	m.kinds[tx.Hash()] = kind
	return tx
}

func (m *maker) sign(script []byte, who []account, signers []transaction.Signer, attributes []transaction.Attribute) *transaction.Transaction {
	m.nonce++
	system := []int64{5000_0000, 20_0000_0000, 100_0000_0000, 100_0000_0000}[m.IntN(4)]
	if m.chain.BlockHeight() == 0 {
		system = 100_0000_0000
	}
	tx := transaction.New(script, system)
	tx.Nonce = m.nonce
	tx.ValidUntilBlock = m.chain.BlockHeight() + 1 + uint32(m.IntN(100))
	tx.Signers = signers
	tx.Attributes = attributes
	tx.NetworkFee = fee
	for _, account := range who {
		tx.Scripts = append(tx.Scripts, account.witness(tx))
	}
	// as a reader would have it
	raw, err := transaction.NewTransactionFromBytes(tx.Bytes())
	if err != nil {
		return nil
	}
	return raw
}

func (m *maker) attributes() []transaction.Attribute {
	var list []transaction.Attribute
	if m.IntN(12) == 0 {
		list = append(list, transaction.Attribute{Type: transaction.ConflictsT, Value: &transaction.Conflicts{Hash: util.Uint256(m.array32())}})
	}
	if m.IntN(12) == 0 {
		list = append(list, transaction.Attribute{Type: transaction.NotValidBeforeT, Value: &transaction.NotValidBefore{Height: uint32(m.IntN(int(m.chain.BlockHeight()) + 1))}})
	}
	if m.IntN(20) == 0 {
		list = append(list, transaction.Attribute{Type: transaction.HighPriority})
	}
	return list
}

func (m *maker) array32() (a [32]byte) {
	for i := range a {
		a[i] = byte(m.Uint32())
	}
	return a
}

func (m *maker) addBlock(txs []*transaction.Transaction) error {
	next := m.last.Index + 1
	b := &block.Block{
		Header: block.Header{
			PrevHash:      m.last.Hash(),
			Timestamp:     begin + uint64(next)*1000,
			Nonce:         m.Uint64(),
			Index:         next,
			NextConsensus: m.committee.hash,
		},
		Transactions: txs,
	}
	if m.chain.GetConfig().StateRootInHeader {
		b.StateRootEnabled = true
		b.PrevStateRoot = m.chain.GetStateModule().CurrentLocalStateRoot()
	}
	b.RebuildMerkleRoot()
	b.Script = m.committee.witness(b)
	if err := m.chain.AddBlock(b); err != nil {
		return fmt.Errorf("block %d: %w", next, err)
	}
	m.last = b
	m.made += len(txs)
	for _, tx := range txs {
		results, err := m.chain.GetAppExecResults(tx.Hash(), trigger.Application)
		if err != nil {
			return err
		}
		if results[0].VMState != vmstate.Halt {
			m.faults++
		}
	}
	return nil
}

// account is an account with the way to its witness.
type account struct {
	hash    util.Uint160
	witness func(hash.Hashable) transaction.Witness
}

// multisig is an account of some keys of which the first ones sign.
func multisig(script []byte, needed int, signing ...*keys.PrivateKey) account {
	witness := func(h hash.Hashable) transaction.Witness {
		var invocation []byte
		for _, key := range signing[:needed] {
			invocation = append(invocation, byte(opcode.PUSHDATA1), 64)
			invocation = append(invocation, key.SignHashable(uint32(magic), h)...)
		}
		return transaction.Witness{InvocationScript: invocation, VerificationScript: script}
	}
	return account{hash.Hash160(script), witness}
}

// free is an account whose script holds without a signature.
func free(script ...byte) account {
	witness := func(hash.Hashable) transaction.Witness {
		return transaction.Witness{InvocationScript: []byte{}, VerificationScript: script}
	}
	return account{hash.Hash160(script), witness}
}

// makeAccounts makes accounts of every form: one key, several, scripts of other forms.
func (m *maker) makeAccounts() {
	for i := range 4 {
		key := m.key("account", i)
		m.accounts = append(m.accounts, multisig(key.PublicKey().GetVerificationScript(), 1, key))
	}
	for i := range 3 {
		all := make(map[string]*keys.PrivateKey)
		var public keys.PublicKeys
		for j := range 2 + i {
			key := m.key("multi", 10*i+j)
			public = append(public, key.PublicKey())
			all[key.PublicKey().StringCompressed()] = key
		}
		needed := 1 + m.IntN(len(public))
		script, err := smartcontract.CreateMultiSigRedeemScript(needed, public)
		if err != nil {
			panic(err)
		}
		// the script has the keys in order
		var signing []*keys.PrivateKey
		sorted := public.Copy()
		for _, key := range sortKeys(sorted) {
			signing = append(signing, all[key.StringCompressed()])
		}
		m.accounts = append(m.accounts, multisig(script, needed, signing...))
	}
	m.accounts = append(m.accounts,
		free(byte(opcode.PUSHT)),
		free(byte(opcode.PUSH2), byte(opcode.PUSH3), byte(opcode.ADD)),
		free(byte(opcode.NOP), byte(opcode.PUSH1), byte(opcode.RET)),
		free(syscall("System.Runtime.GetTime")...),
		free(append(syscall("System.Runtime.GetScriptContainer"), byte(opcode.SIZE))...),
	)
	// a signature with a NOP before it is not of the standard form
	key := m.key("odd", 0)
	odd := append([]byte{byte(opcode.NOP)}, key.PublicKey().GetVerificationScript()...)
	m.accounts = append(m.accounts, multisig(odd, 1, key))
}

func sortKeys(list keys.PublicKeys) keys.PublicKeys {
	for i := range list {
		for j := i; j > 0 && list[j].Cmp(list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

// signer draws the scopes of a signer; most may be asked anywhere.
func (m *maker) signer(account util.Uint160) transaction.Signer {
	signer := transaction.Signer{Account: account}
	switch m.IntN(8) {
	case 0:
		signer.Scopes = transaction.None
	case 1:
		signer.Scopes = transaction.CalledByEntry
	case 2:
		signer.Scopes = transaction.CalledByEntry | transaction.CustomContracts
		for range 1 + m.IntN(3) {
			signer.AllowedContracts = append(signer.AllowedContracts, m.hash160())
		}
	case 3:
		signer.Scopes = transaction.Rules
		for range 1 + m.IntN(3) {
			action := transaction.WitnessAction(m.IntN(2))
			signer.Rules = append(signer.Rules, transaction.WitnessRule{Action: action, Condition: m.condition(2)})
		}
	case 4:
		signer.Scopes = transaction.CustomGroups
		signer.AllowedGroups = []*keys.PublicKey{m.key("account", m.IntN(4)).PublicKey()}
	default:
		signer.Scopes = transaction.Global
	}
	return signer
}

func (m *maker) condition(depth int) transaction.WitnessCondition {
	kind := m.IntN(9)
	if depth == 0 {
		kind = 3 + m.IntN(6)
	}
	list := func() (list []transaction.WitnessCondition) {
		for range 1 + m.IntN(3) {
			list = append(list, m.condition(depth-1))
		}
		return list
	}
	contract := m.hash160()
	switch kind {
	case 0:
		return &transaction.ConditionNot{Condition: m.condition(depth - 1)}
	case 1:
		and := transaction.ConditionAnd(list())
		return &and
	case 2:
		or := transaction.ConditionOr(list())
		return &or
	case 3:
		is := transaction.ConditionScriptHash(contract)
		return &is
	case 4:
		by := transaction.ConditionCalledByContract(contract)
		return &by
	case 5:
		return transaction.ConditionCalledByEntry{}
	case 6:
		group := transaction.ConditionGroup(*m.key("account", m.IntN(4)).PublicKey())
		return &group
	case 7:
		group := transaction.ConditionCalledByGroup(*m.key("account", m.IntN(4)).PublicKey())
		return &group
	default:
		is := transaction.ConditionBoolean(m.IntN(2) == 1)
		return &is
	}
}

// hash160 draws an account, a native contract, a deployed one, or one that is not there.
func (m *maker) hash160() util.Uint160 {
	switch m.IntN(6) {
	case 0, 1:
		return m.natives[m.IntN(len(m.natives))].Hash
	case 2, 3:
		if len(m.contracts) > 0 {
			return m.contracts[m.IntN(len(m.contracts))].hash
		}
	case 4:
		hash := util.Uint160{}
		binary.LittleEndian.PutUint64(hash[:], m.Uint64())
		return hash
	}
	return m.accounts[m.IntN(len(m.accounts))].hash
}
