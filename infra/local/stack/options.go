package stack

import (
	"log/slog"
	"path/filepath"
)

// Options says where a stack listens and what it runs. All servers listen on
// 127.0.0.1.
type Options struct {
	// Root is the project's folder: template.yaml lies in it, and below .build
	// what `make host` built.
	Root string
	// Data is the folder that a stack keeps its state in; the next one carries
	// on with it.
	Data string
	// Programs are functions' programs in place of those that `make host` built.
	Programs map[string]string
	// Ports; 0 takes a free one.
	APIPort, LambdaPort, DynamoDBPort, SQSPort int
	// Parameters override the template's.
	Parameters map[string]string
	// TableName overrides the table's logical id.
	TableName string
	// DynamoDBEndpoint and SQSEndpoint name engines to use instead of the
	// stack's own; empty starts those.
	DynamoDBEndpoint, SQSEndpoint string
	// DemoSale seeds a demonstration sale, by the template's own schedule.
	DemoSale bool
	// Processes bounds how many processes one function may have, below what the
	// template reserves for it.
	Processes int
	// Concurrency is the account's Lambda concurrency; 0 is a new account's, 1,000.
	Concurrency int
	// NoPollers leaves messages in their queues: no function takes them.
	NoPollers bool
	// KillAtResponse is the share, 0 to 1, of the functions' answers at which the
	// process that gave it is killed: the work is done and the reply is lost.
	KillAtResponse float64
	// Faults are what the functions meet on their way to DynamoDB and SQS, and
	// what the queue does to deliveries, as package infra/faults reads it; empty
	// is none.
	Faults string
	// Log takes what goes wrong in the stack itself; nil discards it.
	Log *slog.Logger
}

const (
	region    = "us-east-1"
	accountID = "000000000000"
	// audience is what local tokens are meant for.
	audience = "flashsale-local"
	// GCPercent suits a program that runs a stack: its heap is small, and what
	// collecting it more rarely takes in memory the functions get in time.
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

// demoSale is one request for ever, so that every boot may repeat it (P9).
const demoSale = `{"action":"create","saleId":"demo","name":"Demonstration","opensAt":"2026-01-01T00:00:00Z",` +
	`"closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5}`
