package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestAFunctionWithoutItsTableDiesAtItsStart(t *testing.T) {
	if os.Getenv("RUN_MAIN") != "" {
		main()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = []string{
		"RUN_MAIN=1", "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_EC2_METADATA_DISABLED=true",
	}
	line, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the process ended with %v, want status 1", err)
	}
	if want := `"error":"TABLE_NAME is not set"`; !strings.Contains(string(line), want) {
		t.Errorf("log %s, want %s", line, want)
	}
}

func TestAFunctionWithAGuessableSecretDiesAtItsStart(t *testing.T) {
	if os.Getenv("RUN_MAIN") != "" {
		main()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = []string{
		"RUN_MAIN=1", "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_EC2_METADATA_DISABLED=true", "TABLE_NAME=ledger", "ORIGIN_SECRET=tooshort",
	}
	line, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the process ended with %v, want status 1", err)
	}
	if text := string(line); !strings.Contains(text, `"error":"ORIGIN_SECRET: `) || strings.Contains(text, "tooshort") {
		t.Errorf("log %s, want the variable's name and not its value", line)
	}
}
