package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/deploy/preflight"
)

// root is the repository's top folder.
const root = "../../.."

func environment(t *testing.T, name string) samconfig.Environment {
	t.Helper()
	e, err := samconfig.Read(filepath.Join(root, "infra", "samconfig.toml"), name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The opening day's parameters in DEPLOYING.md must pass the preflight.
func TestTheDocumentsOpeningDayPassesThePreflight(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "infra", "docs", "DEPLOYING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```toml\n\"SeedScheduleExpression=")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("the document has no block of parameters")
	}
	day, err := samconfig.Parse([]byte("[day.deploy.parameters]\nparameter_overrides = [\n\"SeedScheduleExpression="+block+"]"), "day")
	if err != nil {
		t.Fatal(err)
	}
	e := environment(t, production)
	maps.Copy(e.Parameters, day.Parameters)
	if err := e.Override("JwtIssuer=https://issuer.example.com JwtAudience=shop AlarmEmail=ops@example.com"); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := preflight.Print(&table, findings(t, e)); err != nil {
		t.Errorf("%v\n%s", err, &table)
	}
	for _, check := range []string{"ok    schedule", "ok    warming", "833 environments reserved", "40,000 writes a second"} {
		if !strings.Contains(table.String(), check) {
			t.Errorf("no %q in\n%s", check, &table)
		}
	}
}

// findings are those of a first deployment into an account with AWS's default quotas.
func findings(t *testing.T, e samconfig.Environment) []preflight.Finding {
	t.Helper()
	template, err := preflight.Read(filepath.Join(root, "template.yaml"), e.Region, e.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	return preflight.Run(t.Context(), preflight.Deployment{
		Stack: e.StackName, Production: true, Template: template, Now: time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC),
		Issuer: func(context.Context, string) error { return nil },
		Limits: func(context.Context, string) (preflight.Limits, error) {
			return preflight.Limits{Concurrency: 1000, Unreserved: 1000, TableReads: 40_000, TableWrites: 40_000, Rate: 10_000}, nil
		},
	})
}
