// Package startup loads what a function that calls AWS needs before its first invocation.
package startup

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/shared/telemetry"
)

// AWS returns the environment's AWS configuration, whose clients' calls the log times. It ends
// the process if there is none (P19).
func AWS(log *telemetry.Log) aws.Config {
	cfg, err := config.LoadDefaultConfig(context.Background())
	log.FatalIf(err)
	return log.Watch(cfg)
}
