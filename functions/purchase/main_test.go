package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestAFunctionWithoutItsConfigurationDiesAtItsStart(t *testing.T) {
	if os.Getenv("RUN_MAIN") != "" {
		main()
		return
	}
	tests := []struct{ missing, given string }{
		{"TABLE_NAME", "ORDER_QUEUE_URL=http://127.0.0.1:1/queue"},
		{"ORDER_QUEUE_URL", "TABLE_NAME=ledger"},
	}
	for _, tt := range tests {
		t.Run(tt.missing, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFunctionWithoutItsConfigurationDiesAtItsStart$")
			cmd.Env = []string{
				"RUN_MAIN=1", "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
				"AWS_EC2_METADATA_DISABLED=true", tt.given,
			}
			line, err := cmd.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("the process ended with %v, want status 1", err)
			}
			if want := `"error":"` + tt.missing + ` is not set"`; !strings.Contains(string(line), want) {
				t.Errorf("log %s, want %s", line, want)
			}
		})
	}
}

func TestAFunctionWithAMistakeInItsConfigurationDiesAtItsStart(t *testing.T) {
	if os.Getenv("RUN_MAIN") != "" {
		main()
		return
	}
	for _, mistake := range []string{
		"ORIGIN_SECRET=tooshort", "ELIGIBILITY_URL=check.example.com", "ELIGIBILITY_TIMEOUT_MS=soon", "ELIGIBILITY_CONCURRENCY=0",
		"ELIGIBILITY_FAIL_OPEN=maybe",
	} {
		t.Run(mistake, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFunctionWithAMistakeInItsConfigurationDiesAtItsStart$")
			cmd.Env = []string{
				"RUN_MAIN=1", "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
				"AWS_EC2_METADATA_DISABLED=true", "TABLE_NAME=ledger", "ORDER_QUEUE_URL=http://127.0.0.1:1/queue", mistake,
			}
			line, err := cmd.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("the process ended with %v, want status 1", err)
			}
			name, _, _ := strings.Cut(mistake, "=")
			if want := `"message":"cannot start"`; !strings.Contains(string(line), want) || !strings.Contains(string(line), name) {
				t.Errorf("log %s, want %s and the name of %s", line, want, name)
			}
		})
	}
}
