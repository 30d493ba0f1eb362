package main

import (
	"time"

	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/model"
)

const (
	bytesPerLine = 700
	// warmBefore and warmAfter are how long before and after the opening the
	// environments are provisioned.
	warmBefore, warmAfter = 10 * time.Minute, 5 * time.Minute
	// unitsPerPoll is a consistent read of a claim.
	unitsPerPoll = 1
)

// bill prices a run as AWS would, without WarmThroughput's one-time charge, storage,
// metrics, data transfer and the pages.
func bill(r *model.Result, a advice) []price.Line {
	gb := float64(r.Config.MemoryMB) / 1024
	return price.Bill(price.Usage{
		// API Gateway bills requests that Lambda refuses, but not those that its own
		// throttle refuses.
		Requests:      r.PurchaseInvocations + r.RateThrottled + r.LambdaThrottled + r.Polls,
		Invocations:   r.Invocations + r.Polls,
		GBSeconds:     gb * (r.Busy.Seconds() + r.Polls*queryTime.Seconds()),
		WarmGBSeconds: gb * r.Warm.Seconds(),
		HeldGBSeconds: gb * float64(a.provisioned) * (warmBefore + warmAfter).Seconds(),
		WriteUnits:    r.WriteUnits,
		ReadUnits:     r.ReadUnits + unitsPerPoll*r.Polls,
		QueueCalls:    r.QueueCalls,
		LogBytes:      bytesPerLine * (r.Invocations + r.Polls),
	})
}
