package main

import (
	"time"

	"flashsale/infra/deploy/price"
	"flashsale/infra/model"
)

const (
	perWarmGB      = 0.0000041667 // provisioned concurrency, dollars per GB-second
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
		{"HTTP API requests", (r.Invocations + r.LambdaThrottled) * price.PerRequest},
		{"Lambda", r.Invocations*price.PerInvocation + r.Busy.Seconds()*gb*price.PerGBSecond},
		{"provisioned for 15 minutes", float64(a.provisioned) * gb * provisionedFor.Seconds() * perWarmGB},
		{"DynamoDB writes", r.WriteUnits * price.PerWriteUnit},
		{"DynamoDB reads", r.ReadUnits * price.PerReadUnit},
		{"SQS", r.QueueCalls * price.PerQueueCall},
		{"logs", r.Invocations * bytesPerLine / (1 << 30) * price.PerLogGB},
	}
}

func sum(costs []cost) float64 {
	total := 0.0
	for _, c := range costs {
		total += c.dollars
	}
	return total
}
