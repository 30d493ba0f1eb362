package rehearse

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/deploy/preflight"
)

// account is an account with constant limits.
type account struct {
	limits preflight.Limits
	err    error
}

func (a account) Limits(_ context.Context, stack string) (preflight.Limits, error) {
	if a.err == nil && stack != "shop" {
		return a.limits, fmt.Errorf("asked for stack %q", stack)
	}
	return a.limits, a.err
}

// written returns the files of a folder with their contents.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func TestTheReportHasPlanBesideMeasuredUnderItsConditions(t *testing.T) {
	r, _ := rehearsal(t)
	r.Place.Local, r.AllowRemote, r.Tokens, r.Region, r.Stack, r.MemoryMB = false, true, "f", "eu-west-1", "shop", 1024
	r.Fingerprints = map[string]string{"PurchaseFunction": "PurchaseFingerprint"}
	r.Account = account{limits: preflight.Limits{
		Account: "123456789012 as arn", Concurrency: 1000, Unreserved: 900, Own: 1, TableReads: 2, TableWrites: 3, Rate: 4, Burst: 5,
		Tables: map[string]preflight.Warmth{"LedgerTable": {Reads: 12000, Writes: 4000}}, Parameters: map[string]string{"PurchaseFingerprint": "f1", "AlarmEmail": "ops@example.com"},
	}}
	var out strings.Builder
	if err := r.Run(t.Context(), &out, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	got := written(t, r.Report)
	for _, name := range files {
		if got[name] == "" {
			t.Errorf("%s is missing or empty", name)
		}
	}
	const table = `                                                     plan (model)     measured
orders                                                        100           50
orders a second, until the last was accepted                 10.2          9.5
purchase accepted, p99 from the click, ms                    80.0        120.2
wait within the load generator, p99, ms                                    3.0
conflicts of transactions                                       7           12
write units                                                   650          700
dollars for 1,000 orders                                   0.0200       0.0288
measured on AWS in eu-west-1, release 1.2.3, commit c0ffee
`
	if diff := cmp.Diff(table, got[comparisonFile]); diff != "" || !strings.Contains(out.String(), table) {
		t.Errorf("the comparison (-want +got):\n%s\nprinted:\n%s", diff, &out)
	}
	for _, want := range []string{`"where": "AWS"`, `"release": "1.2.3"`, `"commit": "c0ffee"`, `"PurchaseFunction": "f1"`, `"lambdaConcurrency": 1000`, `"writes": 4000`} {
		if !strings.Contains(got[conditionsFile], want) {
			t.Errorf("no %s in the conditions:\n%s", want, got[conditionsFile])
		}
	}
	if want := "-cold -users 200 -stock 100 -shards 16 -concurrency 900 -peak 20 -steady -region eu-west-1 -memory 1024\n"; !strings.HasSuffix(got[planPage], want) {
		t.Errorf("the plan was asked %q, want %q", got[planPage], want)
	}
	for name, text := range got {
		if strings.Contains(text, "123456789012") || strings.Contains(text, "ops@example.com") {
			t.Errorf("%s names the account or a parameter that is nobody's business", name)
		}
		if name != sumsFile && !strings.Contains(got[sumsFile], fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name)) {
			t.Errorf("%s has no sum in\n%s", name, got[sumsFile])
		}
	}
	if digest := fmt.Sprintf("SHA256SUMS: %x\n", sha256.Sum256([]byte(got[sumsFile]))); !strings.HasSuffix(out.String(), digest) {
		t.Errorf("the last line is not %q:\n%s", digest, &out)
	}
}

func TestALocalReportSaysThatNothingWasMeasuredOnAWS(t *testing.T) {
	r, _ := rehearsal(t)
	r.Meter, r.Peak = nil, 40
	var out strings.Builder
	if err := r.Run(t.Context(), &out, &out); err != nil {
		t.Fatal(err)
	}
	got := written(t, r.Report)
	for _, want := range []string{"not counted\n", "local\n", "nothing here was measured on AWS, release 1.2.3, commit c0ffee\n"} {
		if !strings.Contains(got[comparisonFile], want) {
			t.Errorf("no %q in\n%s", want, got[comparisonFile])
		}
	}
	if strings.Contains(got[conditionsFile], "quotas") || !strings.Contains(got[billFile], `"how": "local`) || !strings.HasSuffix(got[planPage], "-concurrency 1000 -peak 40\n") {
		t.Errorf("conditions:\n%s\nbill:\n%s\nplan: %s", got[conditionsFile], got[billFile], got[planPage])
	}
}

func TestAReportIsWrittenOverAnEarlierOneAndOverNothingElse(t *testing.T) {
	run := func(r *Rehearsal) error { return r.Run(t.Context(), &strings.Builder{}, &strings.Builder{}) }
	for name, has := range map[string][]string{
		"somebody's notes": {"notes.txt"}, "notes in a report": {conditionsFile, sumsFile, "notes.txt"},
		"no report's report.html": {measuredPage}, "a folder of that name": {conditionsFile, "report.html/x"},
	} {
		r, asked := rehearsal(t)
		for _, file := range has {
			path := filepath.Join(r.Report, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := run(r); !errors.Is(err, errNoReport) || !strings.Contains(err.Error(), r.Report) || len(*asked) > 0 {
			t.Errorf("%s: %v, seeded %v", name, err, *asked)
		}
		for _, file := range has {
			if text, err := os.ReadFile(filepath.Join(r.Report, file)); err != nil || string(text) != "mine" {
				t.Errorf("%s: %s is %q, %v", name, file, text, err)
			}
		}
	}
	r, asked := rehearsal(t)
	if err := os.WriteFile(r.Report, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(r); err == nil || len(*asked) > 0 {
		t.Errorf("a file: %v, seeded %v", err, *asked)
	}
	r.Report += " of today"
	if err := run(r); err != nil {
		t.Fatal(err)
	}
	r.Load = program(t, "sorry", 2) // interrupted: half a report
	if err := run(r); err == nil || len(written(t, r.Report)) == len(files) {
		t.Errorf("%v: an earlier report's files are left in %v", err, written(t, r.Report))
	}
	r.Load = program(t, "load", 0)
	if err := run(r); err != nil || len(written(t, r.Report)) != len(files) {
		t.Errorf("over half a report: %v", err)
	}
}
