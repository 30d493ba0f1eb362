// Package startup makes what a function needs before its first invocation.
package startup

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

// AWS returns the log of a function, and the environment's AWS configuration, whose clients' calls the log
// times. It ends the process if there is none (P19).
func AWS(function string) (*telemetry.Log, aws.Config) {
	log := telemetry.New(os.Stdout, function, clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	log.FatalIf(err)
	return log, log.Watch(cfg)
}

// Function is AWS for a function with a ledger.
func Function(name string) (*telemetry.Log, aws.Config, *ledger.Ledger) {
	log, cfg := AWS(name)
	l, err := ledger.FromEnv(cfg, clock.Wall)
	log.FatalIf(err)
	return log, cfg, l
}
