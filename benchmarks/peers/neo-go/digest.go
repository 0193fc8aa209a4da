package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/state"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/trigger"
	"github.com/nspcc-dev/neo-go/pkg/util"
	"github.com/nspcc-dev/neo-go/pkg/vm/stackitem"
	"github.com/nspcc-dev/neo-go/pkg/vm/vmstate"
)

// digest goes over the blocks up to the last one: of each it is SHA-256 of the digest so far, the
// state root and the application logs of what was done before the block's transactions, by each of
// them, and after them. Numbers are little endian, lengths and counts of four bytes.
func digest(chain *core.Blockchain) (string, error) {
	var so [sha256.Size]byte
	for height := range chain.BlockHeight() + 1 {
		d := digester{sha256.New()}
		d.Write(so[:])
		block, err := chain.GetBlock(chain.GetHeaderHash(height))
		if err != nil {
			return "", fmt.Errorf("block %d: %w", height, err)
		}
		root, err := chain.GetStateModule().GetStateRoot(height)
		if err != nil {
			return "", fmt.Errorf("state root of block %d: %w", height, err)
		}
		d.Write(root.Root[:])
		logs := func(container util.Uint256, kind trigger.Type) error {
			results, err := chain.GetAppExecResults(container, kind)
			if err != nil {
				return fmt.Errorf("application log of %s: %w", container.StringLE(), err)
			}
			for i := range results {
				d.execution(&results[i])
			}
			return nil
		}
		if err := logs(block.Hash(), trigger.OnPersist); err != nil {
			return "", err
		}
		for _, transaction := range block.Transactions {
			if err := logs(transaction.Hash(), trigger.Application); err != nil {
				return "", err
			}
		}
		if err := logs(block.Hash(), trigger.PostPersist); err != nil {
			return "", err
		}
		d.Sum(so[:0])
	}
	return hex.EncodeToString(so[:]), nil
}

type digester struct{ hash.Hash }

func (d digester) execution(result *state.AppExecResult) {
	d.Write(result.Container[:])
	halted := byte(0)
	if result.VMState == vmstate.Halt {
		halted = 1
	}
	d.Write([]byte{byte(result.Trigger), halted})
	binary.Write(d, binary.LittleEndian, uint64(result.GasConsumed))
	d.bytes([]byte(result.FaultException))
	d.count(len(result.Stack))
	for _, item := range result.Stack {
		d.item(item, true)
	}
	d.count(len(result.Events))
	for _, event := range result.Events {
		d.Write(event.ScriptHash[:])
		d.bytes([]byte(event.Name))
		d.item(event.Item, false)
	}
}

// item adds an item as the application log has it: where it is protected, one that has no
// serialized form leaves a mark.
func (d digester) item(item stackitem.Item, protected bool) {
	bytes, err := stackitem.NewSerializationContext().Serialize(item, protected)
	if err != nil {
		bytes = nil
	}
	d.bytes(bytes)
}

func (d digester) bytes(bytes []byte) {
	d.count(len(bytes))
	d.Write(bytes)
}

func (d digester) count(count int) {
	binary.Write(d, binary.LittleEndian, uint32(count))
}
