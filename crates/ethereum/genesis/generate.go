// Writes the genesis allocations of the public networks, as go-ethereum publishes them, one RLP
// file a network, in the format that README.md describes.
package main

import (
	"bytes"
	"log"
	"math/big"
	"os"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/rlp"
)

type slot struct{ Key, Value common.Hash }

type contract struct {
	Nonce uint64
	Code  []byte
	Slots []slot
}

type account struct {
	Address  common.Address
	Balance  *big.Int
	Contract *contract `rlp:"optional"`
}

func accounts(genesis *core.Genesis) []account {
	var list []account
	for address, given := range genesis.Alloc {
		entry := account{Address: address, Balance: given.Balance}
		if given.Nonce != 0 || len(given.Code) != 0 || len(given.Storage) != 0 {
			entry.Contract = &contract{Nonce: given.Nonce, Code: given.Code}
			for key, value := range given.Storage {
				entry.Contract.Slots = append(entry.Contract.Slots, slot{key, value})
			}
			slices.SortFunc(entry.Contract.Slots, func(a, b slot) int { return a.Key.Cmp(b.Key) })
		}
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b account) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	return list
}

func main() {
	for name, genesis := range map[string]*core.Genesis{
		"mainnet": core.DefaultGenesisBlock(),
		"sepolia": core.DefaultSepoliaGenesisBlock(),
		"holesky": core.DefaultHoleskyGenesisBlock(),
		"hoodi":   core.DefaultHoodiGenesisBlock(),
	} {
		data, err := rlp.EncodeToBytes(accounts(genesis))
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(name+".rlp", data, 0o644); err != nil {
			log.Fatal(err)
		}
		header := genesis.ToBlock().Header()
		log.Printf("%s: %d accounts, %d bytes, state root %x, hash %x", name, len(genesis.Alloc), len(data), header.Root, header.Hash())
	}
}
