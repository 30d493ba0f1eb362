package stack

import (
	"log/slog"
	"path/filepath"
)

// Options are the options of a stack. All servers listen on 127.0.0.1.
type Options struct {
	// Root is the project's folder, with template.yaml and, below .build, the output of
	// `make host`.
	Root string
	// Data is the folder of the stack's state, which the next stack reuses: all but the
	// queues' messages.
	Data string
	// Programs replace functions' programs built by `make host`.
	Programs map[string]string
	// Ports; 0 takes a free one.
	APIPort, LambdaPort, DynamoDBPort, SQSPort int
	// Parameters override the template's.
	Parameters map[string]string
	// TableName overrides the table's logical id.
	TableName string
	// DynamoDBEndpoint and SQSEndpoint are engines to use instead of the stack's own;
	// empty starts its own.
	DynamoDBEndpoint, SQSEndpoint string
	// DemoSale seeds a demonstration sale, by the template's own schedule.
	DemoSale bool
	// Processes bounds the processes per function, in addition to the template's
	// reserved concurrency.
	Processes int
	// Concurrency is the account's Lambda concurrency; 0 is a new account's, 1,000.
	Concurrency int
	// NoPollers leaves messages in their queues and records in their streams: no function
	// takes them.
	NoPollers bool
	// NoSchedules leaves all functions to those who invoke them.
	NoSchedules bool
	// KillAtResponse is the share, 0 to 1, of the functions' answers at which the
	// process is killed: the work is done and the reply is lost.
	KillAtResponse float64
	// Faults are the faults of the functions' calls to DynamoDB, SQS and EventBridge, and of
	// the queue's deliveries, in the syntax of package infra/local/faults; empty is none.
	Faults string
	// Log receives errors of the stack itself; nil discards them.
	Log *slog.Logger
}

const (
	region    = "us-east-1"
	accountID = "000000000000"
	// audience is the audience of local tokens.
	audience = "flashsale-local"
	// GCPercent suits a program that runs a stack: its heap is small, and collecting it
	// less often trades memory for CPU time of the functions.
	GCPercent = 400
	// defaultProcesses suits a machine of a few cores.
	defaultProcesses = 12
)

func (o *Options) template() string { return filepath.Join(o.Root, "template.yaml") }

func (o *Options) bootstrap(function string) string {
	if program := o.Programs[function]; program != "" {
		return program
	}
	return filepath.Join(o.Root, ".build", "host", function, "bootstrap")
}

// demoSale never changes, so that every boot may repeat it (P9).
const demoSale = `{"action":"create","saleId":"demo","name":"Demonstration","opensAt":"2026-01-01T00:00:00Z",` +
	`"closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5}`
