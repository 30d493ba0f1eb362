// Package clients reads the documents of the two APIs and of the events, a draw's beacon and payments, with
// other people's tools, and uses a client that one generates on a local stack. `make clients`
// installs the tools.
package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/launch"
	"flashsale/shared/beacon"
)

const root = "../../.."

// tools is where `make clients` installs the tools.
var tools, _ = filepath.Abs(filepath.Join(root, ".build", "clients"))

// at is a path of this tree, for a program that runs elsewhere.
func at(t *testing.T, path ...string) string {
	t.Helper()
	absolute, err := filepath.Abs(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}

func document(t *testing.T, name string) string { return at(t, "infra", "proof", "contract", name) }

// run runs a program in a folder and returns what it prints.
func run(t *testing.T, folder, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	var out, told bytes.Buffer
	command.Stdout, command.Stderr = &out, &told
	if err := command.Run(); err != nil {
		t.Fatalf("%s %s: %v (make clients installs the tools)\n%s%s", program, strings.Join(arguments, " "), err, &out, &told)
	}
	if strings.Contains(told.String(), "not implemented") {
		t.Errorf("%s leaves something out: %s", program, &told)
	}
	return out.String()
}

// workspace is a folder below the tools, with files of this one.
func workspace(t *testing.T, files ...string) string {
	t.Helper()
	folder, err := os.MkdirTemp(tools, "generated")
	if err != nil {
		t.Fatalf("%v: run make clients", err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// stack is the local stack of all tests here, which sends its events to shop.
var stack = sync.OnceValues(func() (*launch.Stack, error) {
	s, err := launch.New(launch.Built(root), "", "-events-to", shop().URL)
	if err != nil {
		return nil, err
	}
	s.Command.Env = append(s.Command.Env, "EVENTS_SECRET="+eventSecrets)
	if s.Command.Dir, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	return s, s.StartWithin(time.Minute)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := stack(); err == nil {
		if err := s.Stop(time.Minute); err != nil {
			fmt.Fprintln(os.Stderr, "stop the stack:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func started(t *testing.T) (*launch.Stack, *client.Client) {
	t.Helper()
	s, err := stack()
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(s.API, client.Options{Lambda: s.Lambda})
	t.Cleanup(c.Close)
	return s, c
}

// world are the sales and tokens for the generated client, as JSON.
func world(t *testing.T) string {
	t.Helper()
	const name = "ts"
	s, c := started(t)
	now := time.Now()
	token := func(user string, more ...string) string {
		text, err := c.Token(t.Context(), user, more...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	opens := func(kind string, in time.Duration, change func(*client.Sale)) string {
		one := client.Sale{ID: name + "-" + kind, Name: kind, Stock: 5, Shards: 1, OpensAt: now.Add(in), ClosesAt: now.Add(9 * time.Hour)}
		if change != nil {
			change(&one)
		}
		if err := c.Seed(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		return one.ID
	}
	w := map[string]string{
		"api": s.API, "operate": s.Operate, "id": name, "unknown": "nowhere",
		"buyer": token(name), "operator": token("kim", "role", "operator"), "viewer": token("vera", "role", "viewer"),
		"open": opens("open", -time.Minute, nil), "later": opens("later", time.Hour, nil),
		"soldOut": opens("sold-out", -time.Minute, func(one *client.Sale) { one.Stock = 1 }),
		"drawn": opens("drawn", 5*time.Hour, func(one *client.Sale) {
			one.EnterFrom, one.EnterUntil, one.KeepFor = now.Add(-time.Minute), now.Add(time.Hour), time.Hour
		}),
	}
	if a, err := c.Buy(t.Context(), w["soldOut"], token("first"), ""); err != nil || a.Status != 202 {
		t.Fatal(a, err)
	}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// told is what the client prints: each answer by its type, each refusal by its code.
const told = `sale OPEN 5
purchase PENDING
the same purchase true
refused already-ordered true
refused sold-out /sales/ts-sold-out/orders/me
refused sale-not-open true
refused sale-not-found 404
claim CONFIRMED true
order true
refused not-cancellable
entered true
refused draw-not-found
refused Unauthorized
refused forbidden
changed true
refused changed-meanwhile pause
changed false
`

// A form of any fields was generated without a word as code that does not compile.
func TestOgenGeneratesGoClientsThatCompile(t *testing.T) {
	folder := workspace(t, "ogen/go.mod", "ogen/go.sum", "ogen/ogen.yml")
	for name, file := range map[string]string{"api": "openapi.yaml", "operate": "operate.yaml"} {
		run(t, folder, "go", "tool", "ogen", "-config", "ogen.yml", "-target", name, "-package", name, document(t, file))
	}
	run(t, folder, "go", "build", "./...")
}

func TestAGeneratedTypeScriptClientBuysEntersAndReadsErrorsByCode(t *testing.T) {
	folder := workspace(t, "buyer.ts", "package.json")
	for _, name := range []string{"openapi", "operate"} {
		run(t, folder, "node", filepath.Join(tools, "node_modules/openapi-typescript/bin/cli.js"), document(t, name+".yaml"), "-o", name+".d.ts")
	}
	run(t, folder, "node", filepath.Join(tools, "node_modules/typescript/bin/tsc"), "--strict", "--target", "es2022", "--module", "nodenext",
		"--lib", "es2023,dom,dom.iterable", "--outDir", "out", "buyer.ts")
	if diff := cmp.Diff(told, run(t, folder, "node", "out/buyer.js", world(t))); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// readers runs a check of readers.mjs.
func readers(t *testing.T, check, argument string, into any) {
	t.Helper()
	folder := workspace(t, "readers.mjs")
	if err := json.Unmarshal([]byte(run(t, folder, "node", "readers.mjs", check, argument)), into); err != nil {
		t.Fatal(err)
	}
}

func TestEachEventHasItsOwnSchemaInEveryReader(t *testing.T) {
	files, err := filepath.Glob(document(t, "events/[A-Z]*.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); name != "Envelope" {
			want[name] = name
		}
	}
	for check, argument := range map[string]string{
		"messages": document(t, "asyncapi.yaml"), "references": document(t, "asyncapi.yaml"), "schemas": document(t, "events"),
	} {
		var got struct {
			Problems []string
			Types    map[string]string
		}
		readers(t, check, argument, &got)
		if diff := cmp.Diff(want, got.Types); len(got.Problems) > 0 || diff != "" {
			t.Errorf("%s: %v, detail-types (-want +got):\n%s", check, got.Problems, diff)
		}
	}
}

func TestDrandsOwnClientVerifiesARoundOfTheLocalBeacon(t *testing.T) {
	s, c := started(t)
	a, err := c.Send(t.Context(), "GET", "/_local/health", "")
	if err != nil {
		t.Fatal(err)
	}
	var health struct{ Beacon beacon.Chain }
	if err := json.Unmarshal(a.Body, &health); err != nil {
		t.Fatal(err)
	}
	chain := health.Beacon
	var got struct {
		Genesis, Period int64
		Round           uint64
		Signature       string
	}
	argument := fmt.Sprintf(`{"url":"%s/_local/beacon/%s","hash":"%s","key":"%s","round":1000}`, s.API, chain.Hash, chain.Hash, chain.Key)
	readers(t, "round", argument, &got)
	if got.Genesis != chain.Genesis || got.Period != chain.Period || got.Round != 1000 || len(got.Signature) != 2*beacon.SignatureSize {
		t.Errorf("got %+v of %+v", got, chain)
	}
}
