package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/awscli"
	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/place"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// meter is a Meter with a constant usage.
type meter struct{}

func (meter) Usage(_ context.Context, from, to time.Time) (price.Usage, string, error) {
	if to.Before(from) {
		return price.Usage{}, "", errors.New("it ends before it begins")
	}
	return price.Usage{Requests: 1000, WriteUnits: 700}, "counted by a test", nil
}

// executable makes a program of a shell script.
func executable(t *testing.T, script string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// program makes a program that prints a text and its arguments, and exits with a code.
func program(t *testing.T, text string, code int) string {
	t.Helper()
	return executable(t, fmt.Sprintf("echo \"%s\" \"$@\"\nexit %d\n", text, code))
}

// receipt makes an operator program that prints a receipt with this number of claims.
func receipt(t *testing.T, sale string, claims, code int) string {
	t.Helper()
	return executable(t, fmt.Sprintf("echo \"$@\" >$0.asked\necho '{\"saleId\":%q,\"claims\":%d}'\nexit %d\n", sale, claims, code))
}

// local returns a place on this machine and the last request to its SeedFunction.
func local(t *testing.T) (place.Place, *map[string]any) {
	t.Helper()
	mux, asked := http.NewServeMux(), &map[string]any{}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"lambda":%q,"table":"T"}`, server.URL)
	})
	mux.HandleFunc("POST /2015-03-31/functions/SeedFunction/invocations", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"saleId":%q,"seeded":%v,"shards":%v}`, (*asked)["saleId"], (*asked)["stock"], (*asked)["shards"])
	})
	p, err := place.Find(t.Context(), place.Wanted{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return p, asked
}

func rehearsal(t *testing.T) (*Rehearsal, *map[string]any) {
	t.Helper()
	p, asked := local(t)
	return &Rehearsal{
		Place: p, Sale: "r1", Rate: 20, Duration: 10 * time.Second, Shards: 16, Report: "a report.html",
		Load: program(t, "load", 0), Operator: receipt(t, "r1", 50, 0), Meter: meter{}, Now: func() time.Time { return noon },
	}, asked
}

func TestARehearsalSeedsSendsBuyersAndPrintsTheBill(t *testing.T) {
	r, asked := rehearsal(t)
	var out, complaints strings.Builder
	if err := r.Run(t.Context(), &out, &complaints); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &complaints)
	}
	seeded := *asked
	if seeded["saleId"] != "r1" || seeded["stock"] != 100.0 || seeded["shards"] != 16.0 ||
		seeded["opensAt"] != "2026-11-11T11:59:59Z" || seeded["closesAt"] != "2026-11-11T12:10:10Z" {
		t.Errorf("seeded %v, want half as many units as buyers, open at once", seeded)
	}
	for _, want := range []string{
		"load -url " + r.Place.API + " -sale r1 -stock 100 -report a report.html -rate 20 -duration 10s\n",
		"cost of 50 orders", "counted by a test", " 1,000 requests      under 1¢", "per 1,000 orders", "$0.03",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	operated, err := os.ReadFile(r.Operator + ".asked")
	if want := "-api-port " + r.Place.Port() + " receipt -sale r1 -json\n"; err != nil || string(operated) != want {
		t.Errorf("the operator got %q, %v; want %q", operated, err, want)
	}
}

func TestEveryOptionReachesTheLoadGenerator(t *testing.T) {
	r, asked := rehearsal(t)
	r.Peak, r.Tokens, r.Stock, r.Shards, r.Payments = 200, "tokens.txt", 3, 16, true
	var out strings.Builder
	if err := r.Run(t.Context(), &out, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "-stock 3 -report a report.html -rate 20 -duration 10s -payments -peak 200 -tokens tokens.txt\n") {
		t.Errorf("\n%s", &out)
	}
	if a := *asked; a["shards"] != 3.0 || a["payWithin"] != 60.0 || a["price"] != 100.0 || a["currency"] != "CNY" {
		t.Errorf("asked for %v, want 3 shards for 3 units, and 60 seconds to pay 100 CNY", a)
	}
}

func TestBuyersAreSentToAnotherMachineOnlyOnRequest(t *testing.T) {
	r, asked := rehearsal(t)
	r.Place.Local = false
	var out strings.Builder
	if err := r.Run(t.Context(), &out, &out); !errors.Is(err, ErrRemote) || len(*asked) != 0 || out.Len() != 0 {
		t.Errorf("%v, seeded %v, printed %q", err, *asked, &out)
	}
	r.AllowRemote, r.Tokens, r.Region = true, "f", "eu-west-1"
	r.Payments = true
	if err := r.Run(t.Context(), &out, &out); err == nil || len(*asked) != 0 {
		t.Errorf("with payments: %v, seeded %v", err, *asked)
	}
	r.Payments = false
	r.Load = program(t, "load in $AWS_REGION", 0)
	if err := r.Run(t.Context(), &out, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "load in eu-west-1 -url") || !strings.Contains(out.String(), "-tokens f -table T -allow-remote\n") {
		t.Errorf("\n%s", &out)
	}
}

func TestABrokenPromiseIsReportedAfterTheBill(t *testing.T) {
	r, _ := rehearsal(t)
	r.Load, r.Operator = program(t, "BROKEN", 1), receipt(t, "r1", 101, 1)
	var out strings.Builder
	if err := r.Run(t.Context(), &out, &out); !errors.Is(err, ErrBroken) || !strings.Contains(out.String(), "cost of 101 orders") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestAFailedRehearsalIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(*Rehearsal){
		"no load generator": func(r *Rehearsal) { r.Load = filepath.Join(t.TempDir(), "none") },
		"it could not run":  func(r *Rehearsal) { r.Load = program(t, "sorry", 2) },
		"no receipt":        func(r *Rehearsal) { r.Operator = program(t, "sorry", 2) },
		"another's receipt": func(r *Rehearsal) { r.Operator = receipt(t, "r2", 50, 0) },
		"nobody to seed":    func(r *Rehearsal) { r.Place.Client = client.New(r.Place.API, client.Options{}) },
		"a meter that fails": func(r *Rehearsal) {
			r.Meter = &CloudWatch{CLI: awscli.CLI{Program: filepath.Join(t.TempDir(), "none")}}
		},
	} {
		r, _ := rehearsal(t)
		spoil(r)
		var out strings.Builder
		if err := r.Run(t.Context(), &out, &out); err == nil || errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
