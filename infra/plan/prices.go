package main

import (
	"time"

	"flashsale/infra/model"
)

// Prices in dollars: us-east-1, on demand, arm64, without free tiers.
const (
	perRequest     = 1.00 / 1e6 // HTTP API
	perInvocation  = 0.20 / 1e6
	perGBSecond    = 0.0000133334
	perWarmGB      = 0.0000041667 // provisioned concurrency, per GB-second
	perWriteUnit   = 0.625 / 1e6
	perReadUnit    = 0.125 / 1e6
	perQueueCall   = 0.40 / 1e6
	perLogGB       = 0.50
	bytesPerLine   = 700
	provisionedFor = 15 * time.Minute
)

// cost is one line of the bill.
type cost struct {
	what    string
	dollars float64
}

// bill prices a run as AWS would. The one-time charge of WarmThroughput is not
// in it, nor storage, metrics and data transfer.
func bill(r *model.Result, a advice) []cost {
	gb := float64(r.Config.MemoryMB) / 1024
	return []cost{
		{"HTTP API requests", (r.Invocations + r.LambdaThrottled) * perRequest},
		{"Lambda", r.Invocations*perInvocation + r.Busy.Seconds()*gb*perGBSecond},
		{"provisioned for 15 minutes", float64(a.provisioned) * gb * provisionedFor.Seconds() * perWarmGB},
		{"DynamoDB writes", r.WriteUnits * perWriteUnit},
		{"DynamoDB reads", r.ReadUnits * perReadUnit},
		{"SQS", r.QueueCalls * perQueueCall},
		{"logs", r.Invocations * bytesPerLine / (1 << 30) * perLogGB},
	}
}

func sum(costs []cost) float64 {
	total := 0.0
	for _, c := range costs {
		total += c.dollars
	}
	return total
}
