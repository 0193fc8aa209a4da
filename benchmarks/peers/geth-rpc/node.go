package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/rlp"
)

// batchSize is how many blocks `geth import` inserts together.
const batchSize = 2500

// serve starts a node that has executed all blocks of the input and answers on loopback.
func serve(o options) (*node.Node, *types.Header, error) {
	genesis, err := readGenesis(o.Genesis)
	if err != nil {
		return nil, nil, err
	}
	config := node.DefaultConfig
	config.DataDir = filepath.Join(o.Dir, "node")
	config.IPCPath = ""
	config.HTTPHost, config.HTTPPort, config.HTTPModules = "127.0.0.1", 0, []string{"eth", "net", "web3"}
	config.AuthPort = 0
	config.P2P.ListenAddr, config.P2P.MaxPeers, config.P2P.NAT = "", 0, nil
	config.P2P.NoDiscovery, config.P2P.DiscoveryV4, config.P2P.DiscoveryV5 = true, false, false
	stack, err := node.New(&config)
	if err != nil {
		return nil, nil, err
	}
	full := ethconfig.Defaults
	full.Genesis, full.SyncMode = genesis, ethconfig.FullSync
	backend, err := eth.New(stack, &full)
	if err != nil {
		return nil, nil, errors.Join(err, stack.Close())
	}
	if err := importAll(backend.BlockChain(), o.RLP); err != nil {
		return nil, nil, errors.Join(err, stack.Close())
	}
	if err := stack.Start(); err != nil {
		return nil, nil, errors.Join(err, stack.Close())
	}
	return stack, backend.BlockChain().CurrentBlock(), nil
}

func readGenesis(path string) (*core.Genesis, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	genesis := new(core.Genesis)
	return genesis, json.NewDecoder(bufio.NewReaderSize(file, 1<<20)).Decode(genesis)
}

// importAll takes the blocks of an RLP export through InsertChain, but for the genesis block.
func importAll(chain *core.BlockChain, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	stream := rlp.NewStream(bufio.NewReaderSize(file, 1<<20), 0)
	for {
		blocks, err := batch(stream)
		if err != nil || len(blocks) == 0 {
			return err
		}
		if n, err := chain.InsertChain(blocks); err != nil {
			return fmt.Errorf("block %v: %w", blocks[n].Number(), err)
		}
	}
}

// batch reads up to batchSize blocks. It is empty at the end.
func batch(stream *rlp.Stream) ([]*types.Block, error) {
	blocks := make([]*types.Block, 0, batchSize)
	for len(blocks) < batchSize {
		block := new(types.Block)
		err := stream.Decode(block)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		if block.NumberU64() > 0 {
			blocks = append(blocks, block)
		}
	}
	return blocks, nil
}
