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
