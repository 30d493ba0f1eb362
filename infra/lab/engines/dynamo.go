package engines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/template"
)

const (
	installDynoxide = "make engine"
	ledgerTable     = "LedgerTable"
)

// dynamo is a dynoxide with its data in a file, so that a crash loses nothing
// that was answered.
type dynamo struct {
	running *engine.Engine
}

func startDynamo(ctx context.Context, dir string, o Options) (Engine, error) {
	binary := engine.BinaryUnder(o.Root)
	if err := present(binary, "dynoxide", installDynoxide); err != nil {
		return nil, err
	}
	e, err := engine.Start(ctx, engine.Options{Binary: binary, DBPath: filepath.Join(dir, "dynamodb.sqlite")})
	if err != nil {
		return nil, err
	}
	d := &dynamo{running: e}
	if err := d.makeTable(ctx, o); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

// present turns a file that is not there into a *MissingError.
func present(path, program, install string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &MissingError{Program: program, Install: install}
	} else if err != nil {
		return fmt.Errorf("find %s: %w", program, err)
	}
	return nil
}

// makeTable creates the template's own table.
func (d *dynamo) makeTable(ctx context.Context, o Options) error {
	described, err := template.Load(filepath.Join(o.Root, "template.yaml"), template.Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1", "JwtAudience": "lab"}, TableName: ledgerTable,
	})
	if err != nil {
		return err
	}
	for _, table := range described.Tables {
		if err := engine.EnsureTable(ctx, engine.Client(d.running.Endpoint()), table); err != nil {
			return err
		}
	}
	return nil
}

// Reset has nothing to do: every run has a sale id of its own, and no key of
// one sale is another's.
func (d *dynamo) Reset(context.Context) error { return nil }

func (d *dynamo) Describe(p *shop.Place) { p.DynamoDB, p.Table = d.running.Endpoint(), ledgerTable }

func (d *dynamo) Crash() error {
	d.running.Kill()
	return nil
}

func (d *dynamo) Recover(ctx context.Context) error {
	e, err := d.running.Again(ctx)
	if err != nil {
		return err
	}
	d.running = e
	return nil
}

func (d *dynamo) Stop() error { return d.running.Stop() }
