package main

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// payload is the code of the contract that the transactions create.
var payload = common.FromHex("" +
	"630000001960010138038063000000196001016000396000f35b4e1eb055c8ea0e2d61494195c70b" +
	"76ca531ed36d77a8b8590626843502ed36831e8de19bae5c60d38535daf58411ad4f5ff1c5d6f4c4" +
	"25581b2233457440aa4d5fbf9807d655f9f4a7434c898825a9281483a599789e141a726381feace5" +
	"6312b2fb287ed29b6cee7f029c433dc7bf47d74817ad83d5235736f829dd771fdf90")

// transaction is the transaction of nim-eth's RLP profiler, its nonce raised by index: 179 bytes
// encoded. It is what a types.Transaction holds inside, encodes and hashes.
func transaction(index int) *types.LegacyTx {
	return &types.LegacyTx{
		Nonce:    11_253 + uint64(index),
		GasPrice: big.NewInt(9),
		Gas:      88_920,
		Value:    new(big.Int),
		Data:     payload,
		V:        big.NewInt(49),
		R:        big.NewInt(2_812_423_844),
		S:        big.NewInt(532_553_168),
	}
}

// transactions are so many of them, each with its own nonce.
func transactions(count int) types.Transactions {
	list := make(types.Transactions, count)
	for i := range list {
		list[i] = types.NewTx(transaction(i))
	}
	return list
}

// header is the header of the same profiler, its number raised by index: 511 bytes encoded.
func header(index int) *types.Header {
	return &types.Header{
		ParentHash:  common.HexToHash("4d24f4dddde8ab09ea900bc87492f74e44e1c3982042d0fd01673a98e72c14a6"),
		UncleHash:   common.HexToHash("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"),
		Root:        common.HexToHash("a06c17a5ebaeacef3b760293e8f2092e775448c038aa7361350cde9f27e6b218"),
		TxHash:      common.HexToHash("773faa6ccc82788a4392df241b7c6e7175fd77648fed2aaad583a528293a80bc"),
		ReceiptHash: common.HexToHash("8ccc9b260110dad8161d01e72913cd27baab66809aa106a4c28a7c7a3a418b65"),
		Difficulty:  big.NewInt(131_072),
		Number:      big.NewInt(1024 + int64(index)),
		GasLimit:    3_141_592,
		GasUsed:     891_237,
		Time:        15_748_660,
		MixDigest:   common.HexToHash("378c37bd4d8692035f9d03a619d7c44a579d3b1c1c52db3096bc92a71b74aeb5"),
		Nonce:       types.EncodeNonce(0x4ea8_13c0_c15b_4215),
		BaseFee:     big.NewInt(9),
	}
}

// block is the reference header over so many transactions, without ommers.
func block(count int) *types.Block {
	return types.NewBlockWithHeader(header(0)).WithBody(types.Body{Transactions: transactions(count)})
}

// checkLengths stops the program when an object is not the one that all peers measure.
func checkLengths() {
	tx, head := len(encode(transaction(0))), len(encode(header(0)))
	if tx != 179 || head != 511 {
		panic(fmt.Sprintf("transaction of %d bytes, header of %d: 179 and 511 expected", tx, head))
	}
}
