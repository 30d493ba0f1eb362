package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"flashsale/infra/ops/deploy/smoke"
)

// root is the repository's top folder.
const root = "../../.."

func TestAnInvalidCommandLineIsRefused(t *testing.T) {
	for _, args := range [][]string{
		nil, {"dance"}, {"smoke", "now"}, {"smoke", "-loud"}, {"preflight", "-x"}, {"parameters", "-x"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestEveryParameterIsPrintedAsSAMTakesIt(t *testing.T) {
	var out strings.Builder
	args := []string{
		"parameters", "-built", build(t, nil), "-config", root + "/infra/samconfig.toml", "-template", root + "/template.yaml", "-env", "prod",
		`JwtAudience="two words"`, "LogLevel=DEBUG",
	}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`JwtAudience="two words"`, `LogLevel="DEBUG"`, // from the command line
		`LogRetentionDays="90"`,                              // from the file
		`SeedScheduleExpression=""`, `CorsAllowedOrigins=""`, // from the template
	} {
		if !strings.Contains("\n"+out.String(), "\n"+want+"\n") {
			t.Errorf("no line %s in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "OriginSecret") {
		t.Error("a secret that was not given is set to an empty value, but the stack must keep it")
	}
	out.Reset()
	if err := run(t.Context(), append(args, "OriginSecret=s"), &out, io.Discard); err != nil || !strings.Contains(out.String(), `OriginSecret="s"`) {
		t.Errorf("a secret that is given: %v\n%s", err, &out)
	}
}

func TestTheSmokeTestOfARemoteAPINeedsAnExistingSale(t *testing.T) {
	t.Setenv("TOKEN", "")
	// The remote API has a name that does not resolve: the round is made, and every request
	// fails.
	var out strings.Builder
	err := run(t.Context(), []string{"smoke", "-url", "http://api.invalid", "-sale", "s", "-bound", "1ms"}, &out, io.Discard)
	if !errors.Is(err, smoke.ErrMismatch) || !strings.Contains(out.String(), "skip  purchase") {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := run(t.Context(), []string{"smoke", "-url", "http://api.invalid"}, io.Discard, io.Discard); err == nil || errors.Is(err, smoke.ErrMismatch) {
		t.Errorf("without a sale: %v, want an error that no sale can be made", err)
	}
}
