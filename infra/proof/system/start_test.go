package system

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A missing or invalid variable must end a function at start, with the variable's name
// in the log but never its value (P19).
func TestAFunctionThatIsConfiguredWronglyDiesAtItsStart(t *testing.T) {
	t.Parallel()
	const table, queue = "TABLE_NAME=ledger", "ORDER_QUEUE_URL=http://127.0.0.1:1/queue"
	type environment []string
	for function, cases := range map[string]map[string]environment{ // by what the log must contain
		"FinalizeFunction": {`"error":"TABLE_NAME is not set"`: {}},
		"SeedFunction":     {`"error":"TABLE_NAME is not set"`: {}},
		"QueryFunction": {
			`"error":"TABLE_NAME is not set"`: {},
			`"error":"ORIGIN_SECRET: `:        {table, "ORIGIN_SECRET=tooshort"},
			`PAYMENT_LINK_KEY is not set`:     {table, "PAYMENT_URL=https://s/{signature}"},
			`PAYMENT_LINK_KEY is shorter`:     {table, "PAYMENT_LINK_KEY=tooshort"},
		},
		"PayFunction": {
			`"error":"TABLE_NAME is not set"`: {},
			`"error":"ORIGIN_SECRET: `:        {table, "ORIGIN_SECRET=tooshort"},
		},
		"PageFunction": {
			`"error":"ORIGIN_SECRET: `:             {table, "ORIGIN_SECRET=tooshort"},
			`"error":"SIGNIN_AUTHORIZE_URL needs `: {table, "SIGNIN_AUTHORIZE_URL=https://issuer.example/authorize"},
		},
		"ReconcileFunction": {
			`"error":"TABLE_NAME is not set"`:      {queue},
			`"error":"ORDER_QUEUE_URL is not set"`: {table},
		},
		"PublishFunction": {
			`EVENT_BUS_NAME is not set`:    {"FAILURE_QUEUE_URL=http://127.0.0.1:1/queue"},
			`FAILURE_QUEUE_URL is not set`: {"EVENT_BUS_NAME=orders"},
		},
		"RefundFunction": {
			`"error":"TABLE_NAME is not set"`: {},
			`REFUND_KEYS_ARN is not set`:      {table},
			`REFUND_PROVIDERS_URL: `:          {table, "REFUND_KEYS_ARN=arn", "REFUND_PROVIDERS_URL=http://10.0.0.1:80"},
		},
		"ReleaseFunction": {
			`"error":"TABLE_NAME is not set"`: {},
			`RELEASE_GRACE_SECONDS`:           {table, "RELEASE_GRACE_SECONDS=2m"},
		},
		"PurchaseFunction": {
			`"error":"TABLE_NAME is not set"`:      {queue},
			`"error":"ORDER_QUEUE_URL is not set"`: {table},
			`ORIGIN_SECRET: `:                      {table, queue, "ORIGIN_SECRET=tooshort"},
			`ELIGIBILITY_URL`:                      {table, queue, "ELIGIBILITY_URL=check.example.com"},
			`PAYMENT_LINK_KEY is not set`:          {table, queue, "PAYMENT_URL=https://s/{signature}"},
		},
	} {
		for want, given := range cases {
			t.Run(function+" "+want, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), filepath.Join(project, ".build/host", function, "bootstrap"))
				cmd.Env = append(given, "AWS_LAMBDA_FUNCTION_NAME="+function, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
				out, err := cmd.Output()
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
					t.Errorf("the process ended with %v, want status 1", err)
				}
				log := string(out)
				if !strings.Contains(log, want) || !strings.Contains(log, `"message":"cannot start"`) || strings.Contains(log, "tooshort") {
					t.Errorf("log %s, want %s", log, want)
				}
			})
		}
	}
}
