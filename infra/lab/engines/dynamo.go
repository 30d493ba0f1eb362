package engines

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/template"
)

const ledgerTable = "LedgerTable"

// dynamo is a dynoxide with its data in a file, so that a crash loses nothing
// that was answered.
type dynamo struct {
	running *engine.Engine
}

// startDynamo starts one with the template's own table.
func startDynamo(ctx context.Context, dir string, o Options) (Engine, error) {
	binary := engine.BinaryUnder(o.Root)
	if _, err := os.Stat(binary); err != nil {
		return nil, &MissingError{Program: "dynoxide", Install: "make engine"}
	}
	described, err := template.Load(filepath.Join(o.Root, "template.yaml"), template.Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1", "JwtAudience": "lab"}, TableName: ledgerTable,
	})
	if err != nil {
		return nil, err
	}
	e, err := engine.Start(ctx, engine.Options{Binary: binary, DBPath: filepath.Join(dir, "dynamodb.sqlite")})
	if err != nil {
		return nil, err
	}
	d := &dynamo{running: e}
	for _, table := range described.Tables {
		if err := engine.EnsureTable(ctx, engine.Client(e.Endpoint()), table); err != nil {
			d.Stop()
			return nil, err
		}
	}
	return d, nil
}

// Reset has nothing to do: every run has a sale id of its own, and no key of
// one sale is another's.
func (d *dynamo) Reset(context.Context) error { return nil }

func (d *dynamo) Describe(p *shop.Place) { p.DynamoDB, p.Table = d.running.Endpoint(), ledgerTable }

func (*dynamo) Ail() time.Duration { return 0 }

func (d *dynamo) Crash() { d.running.Kill() }

func (d *dynamo) Recover(ctx context.Context) error { return d.running.Again(ctx) }

func (d *dynamo) Stop() { _ = d.running.Stop() }
