package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nspcc-dev/neo-go/pkg/config"
	"github.com/nspcc-dev/neo-go/pkg/core"
	"github.com/nspcc-dev/neo-go/pkg/core/storage"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/callflag"
	"github.com/nspcc-dev/neo-go/pkg/smartcontract/trigger"
	"go.uber.org/zap"
)

// runs is how often a script is run; the fastest run counts.
const runs = 7

// script runs a script over a new chain in memory and prints the nanoseconds of its fastest run.
func script(path, digits string) error {
	code, err := hex.DecodeString(digits)
	if err != nil {
		return err
	}
	configuration, err := config.LoadFile(path)
	if err != nil {
		return err
	}
	chain, err := core.NewBlockchain(storage.NewMemoryStore(), configuration.Blockchain(), zap.NewNop())
	if err != nil {
		return err
	}
	best := time.Duration(1 << 62)
	for range runs {
		context, err := chain.GetTestVM(trigger.Application, nil, nil)
		if err != nil {
			return err
		}
		context.VM.SetGasLimit(1 << 52)
		context.VM.LoadScriptWithFlags(code, callflag.All)
		start := time.Now()
		err = context.VM.Run()
		best = min(best, time.Since(start))
		context.Finalize()
		if err != nil || context.VM.HasFailed() {
			return errors.Join(errors.New("the script fails"), err)
		}
	}
	fmt.Println(best.Nanoseconds())
	return nil
}
