package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// call is a request to AWS: the service, the region and the operation.
type call struct {
	Region, Service, Name string
	Body                  map[string]any
}

// account is an AWS account with the stack "shop" in eu-west-1 whose services give the
// test's answers, by operation or function. It returns the calls.
func account(t *testing.T, answers map[string]string) (config string, calls *[]call) {
	t.Helper()
	offline(t)
	calls = &[]call{}
	services := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Credential=ID/DATE/REGION/SERVICE/aws4_request
		scope := strings.Split(r.Header.Get("Authorization"), "/")
		c := call{Region: scope[2], Service: scope[3], Name: r.Header.Get("X-Amz-Target")}
		if c.Name == "" {
			c.Name = r.URL.Path
		}
		if err := json.NewDecoder(r.Body).Decode(&c.Body); err != nil {
			t.Error(err)
		}
		*calls = append(*calls, c)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		answer, ok := answers[c.Name]
		if !ok {
			answer = "{}"
		}
		if strings.HasPrefix(answer, `{"__type"`) {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(services.Close)
	bin := t.TempDir()
	const cli = `#!/bin/sh
case "$*" in
*"--region eu-west-1"*"describe-stacks --stack-name shop") echo '{"Stacks":[{"Outputs":[
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test"},{"OutputKey":"TableName","OutputValue":"shop-Table"},
 {"OutputKey":"SeedFunctionName","OutputValue":"shop-Seed:live"},{"OutputKey":"ReconcileFunctionName","OutputValue":"shop-Reconcile:live"},{"OutputKey":"EventBusName","OutputValue":"shop-orders"},
 {"OutputKey":"OrderQueueUrl","OutputValue":"https://sqs.test/1/orders"},{"OutputKey":"OrderDeadLetterQueueUrl","OutputValue":"https://sqs.test/1/dead"}]}]}';;
*"list-stack-resources"*) echo '{}';;
*) echo "unexpected: $*" >&2; exit 254;;
esac
`
	if err := os.WriteFile(filepath.Join(bin, "aws"), []byte(cli), 0o755); err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(bin, "samconfig.toml")
	file := "[dev.deploy.parameters]\nstack_name = \"shop\"\nregion = \"eu-west-1\"\n[other.deploy.parameters]\nstack_name = \"none\"\nregion = \"eu-west-1\"\n"
	if err := os.WriteFile(config, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"PATH": bin + ":" + os.Getenv("PATH"), "AWS_ENDPOINT_URL": services.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_REGION": "us-east-1", // the stack's region wins
	} {
		t.Setenv(name, value)
	}
	return config, calls
}

func TestAnEnvironmentsSaleIsChangedThroughItsFunctions(t *testing.T) {
	const function, reconcile = "/2015-03-31/functions/shop-Seed:live/invocations", "/2015-03-31/functions/shop-Reconcile:live/invocations"
	const opens, closes = "2026-11-11T12:00:00Z", "2026-11-11T14:00:00Z"
	for _, tt := range []struct {
		action, answer, want string
		flags                []string
		members              map[string]any
		function             string // SeedFunction, if empty
	}{
		{action: "pause", answer: `{"saleId":"moutai","paused":true,"changedAt":"2026-11-11T12:00:00Z"}`,
			want: "moutai has been paused since 12:00:00Z: no unit is sold until `make resume ENV=dev SALE=moutai`\n"},
		{action: "resume", answer: `{"saleId":"moutai","changedAt":"2026-11-11T12:00:00Z","opensAt":"2026-11-11T12:00:00Z","closesAt":"2026-11-11T14:00:00Z"}`,
			want: "moutai was resumed at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T14:00:00Z\n"},
		{action: "reschedule", answer: `{"saleId":"moutai","paused":true,"changedAt":"2026-11-10T12:00:00Z","opensAt":"2026-11-11T12:00:00.000Z","closesAt":"2026-11-11T14:00:00.000Z"}`,
			want:  "moutai was rescheduled at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T14:00:00Z, but it is paused: `make resume ENV=dev SALE=moutai`\n",
			flags: []string{"-opens", "2026-11-11T13:00:00+01:00", "-closes", closes}, members: map[string]any{"opensAt": opens, "closesAt": closes}},
		{action: "add", answer: `{"saleId":"moutai","seeded":150,"shards":2,"applied":true}`,
			want:  "moutai got 50 more units, 150 have been seeded in total; repeating `make add` with SEED_ID=second-batch changes nothing; `make receipt ENV=dev SALE=moutai` counts them\n",
			flags: []string{"-stock", "50", "-seed-id", "second-batch"}, members: map[string]any{"stock": 50.0, "seedId": "second-batch"}},
		{action: "add", answer: `{"saleId":"moutai","seeded":150,"shards":2,"applied":false}`,
			want:  "moutai: 50 units were added earlier under the name second-batch, and nothing changed now; 150 units have been seeded in total\n",
			flags: []string{"-stock", "50", "-seed-id", "second-batch"}, members: map[string]any{"stock": 50.0, "seedId": "second-batch"}},
		{action: "withdraw", answer: `{"saleId":"moutai","seeded":1000,"shards":2,"applied":true,"withdrawn":9000}`,
			want:  "moutai: 9000 of 9000 units were withdrawn, 1000 stay seeded; `make receipt ENV=dev SALE=moutai` counts them\n",
			flags: []string{"-stock", "9000", "-seed-id", "typo"}, members: map[string]any{"stock": 9000.0, "seedId": "typo"}},
		{action: "withdraw", answer: `{"saleId":"moutai","seeded":1200,"shards":2,"applied":false,"withdrawn":8800}`,
			want: "moutai: 8800 of 9000 units were withdrawn earlier under the name typo, and nothing changed now; 1200 stay seeded; no other unit was left; " +
				"`make receipt ENV=dev SALE=moutai` counts them\n",
			flags: []string{"-stock", "9000", "-seed-id", "typo"}, members: map[string]any{"stock": 9000.0, "seedId": "typo"}},
		{action: "recall", answer: `{"saleId":"moutai","applied":true,"paused":true,"recalledAt":"2026-11-11T12:00:00Z"}`,
			want:  "moutai was recalled at 2026-11-11T12:00:00Z: no unit is sold any more, and within minutes each order is cancelled or its payment is a refund due; `make refunds ENV=dev SALE=moutai` lists what must be paid back\n",
			flags: []string{"-note", "$(soles) come off; `x`", "-yes"}, members: map[string]any{"note": "$(soles) come off; `x`"}},
		{action: "recall", answer: `{"saleId":"moutai","paused":true,"recalledAt":"2026-11-11T12:00:00Z"}`,
			want:  "moutai was recalled at 2026-11-11T12:00:00Z, and nothing changed now; `make refunds ENV=dev SALE=moutai` lists what must be paid back\n",
			flags: []string{"-note", "again", "-yes"}, members: map[string]any{"note": "again"}},
		{action: "resend", function: reconcile, answer: `{"resent":5000,"receipts":[{"saleId":"moutai","pending":7000}]}`,
			want: "moutai: 5000 order messages were sent again; 7000 orders had no id: the command may be repeated for the others when the last message of each is 30 s old; " +
				"`make receipt ENV=dev SALE=moutai` counts them\n"},
		{action: "resend", function: reconcile, answer: `{"resent":7,"receipts":[{"saleId":"moutai","pending":7}]}`,
			want: "moutai: 7 order messages were sent again; 7 orders had no id; `make receipt ENV=dev SALE=moutai` counts them\n"},
		{action: "resend", function: reconcile, answer: `{"resent":7,"receipts":[]}`,
			want: "moutai: 7 order messages were sent again, and not every order was looked at: repeat the command for the others\n"},
	} {
		t.Run(tt.action, func(t *testing.T) {
			name := function
			if tt.function != "" {
				name = tt.function
			}
			config, calls := account(t, map[string]string{name: tt.answer})
			var out bytes.Buffer
			if err := run(t.Context(), append([]string{"-env", "dev", "-config", config, tt.action, "-sale", "moutai"}, tt.flags...), &out); err != nil || out.String() != tt.want {
				t.Errorf("%v, %q, want %q", err, &out, tt.want)
			}
			body := map[string]any{"action": tt.action, "saleId": "moutai"}
			maps.Copy(body, tt.members)
			want := []call{{"eu-west-1", "lambda", name, body}}
			if diff := cmp.Diff(want, *calls); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARecallIsAskedForOnceWithTheNumbersOfOrders(t *testing.T) {
	const function, reconcile = "/2015-03-31/functions/shop-Seed:live/invocations", "/2015-03-31/functions/shop-Reconcile:live/invocations"
	const orders = `{"receipts":[{"saleId":"moutai","pending":1,"confirmed":9,"paid":5,"released":2}]}`
	for name, tt := range map[string]struct {
		counted, typed, want string
		recalls              bool
	}{
		"yes":        {orders, "y\n", "moutai has 1 orders without an id yet, 2 confirmed and not paid, 5 paid and 2 released.\n", true},
		"in words":   {orders, " YES \n", "Recall moutai? [y/N] moutai was recalled at", true},
		"no":         {orders, "n\n", "NOT RECALLED: nothing was changed\n", false},
		"no answer":  {orders, "", "NOT RECALLED: nothing was changed\n", false},
		"too many":   {`{"receipts":[]}`, "y\n", "moutai has more orders than could be counted now.\n", true},
		"no numbers": {`{"__type":"ServiceException"}`, "y\n", "NOT RECALLED: the orders could not be counted (", false},
	} {
		t.Run(name, func(t *testing.T) {
			config, calls := account(t, map[string]string{reconcile: tt.counted, function: `{"saleId":"moutai","applied":true,"paused":true,"recalledAt":"2026-11-11T12:00:00Z"}`})
			stdin = strings.NewReader(tt.typed)
			defer func() { stdin = os.Stdin }()
			var out bytes.Buffer
			err := run(t.Context(), []string{"-env", "dev", "-config", config, "recall", "-sale", "moutai", "-note", "soles"}, &out)
			asked := slices.ContainsFunc(*calls, func(c call) bool { return c.Name == function })
			if (err == nil) != tt.recalls || asked != tt.recalls || !strings.Contains(out.String(), tt.want) {
				t.Errorf("%v, %q after %+v, want %q", err, &out, *calls, tt.want)
			}
		})
	}
}

func TestAnEnvironmentsTableAndQueuesAreThoseOfItsStack(t *testing.T) {
	config, calls := account(t, map[string]string{
		"AmazonSQS.GetQueueAttributes": `{"Attributes":{"ApproximateNumberOfMessages":"0"}}`,
		"DynamoDB_20120810.Query":      `{"Items":[],"Count":0}`,
	})
	for _, command := range [][]string{{"receipt"}, {"redrive"}, {"buyer", "-sale", "moutai", "-user", "alice"}} {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-env", "dev", "-config", config}, command...), &out)
		if err != nil && !strings.Contains(err.Error(), "sale-not-found") {
			t.Errorf("%s: %v\n%s", command[0], err, &out)
		}
	}
	services := map[string]bool{}
	for _, c := range *calls {
		services[c.Service] = true
		table, queue := c.Body["TableName"], c.Body["QueueUrl"]
		if c.Region != "eu-west-1" || table != nil && table != "shop-Table" || queue != nil && queue != "https://sqs.test/1/dead" {
			t.Errorf("%+v", c)
		}
	}
	if !services["dynamodb"] || !services["sqs"] {
		t.Errorf("asked: %+v", *calls)
	}
}

func TestAMissingEnvironmentIsNotCalled(t *testing.T) {
	config, calls := account(t, nil)
	for says, where := range map[string][]string{
		"there are: dev, other": {"-env", "staging"}, "stack none": {"-env", "other"}, "give only one of": {"-env", "dev", "-table", "T"},
	} {
		for _, command := range [][]string{{"pause", "-sale", "moutai"}, {"receipt"}, {"redrive"}} {
			var out bytes.Buffer
			err := run(t.Context(), slices.Concat(where, []string{"-config", config}, command), &out)
			if err == nil || !strings.Contains(out.String()+err.Error(), says) {
				t.Errorf("%v %s: %v, said %q, want %q", where, command[0], err, &out, says)
			}
			if errors.Is(err, errNotDone) && !strings.HasPrefix(out.String(), "NOT PAUSED: ") {
				t.Errorf("%v: said %q", where, &out)
			}
		}
	}
	if err := run(t.Context(), []string{"-table", "T", "pause", "-sale", "moutai"}, &bytes.Buffer{}); err == nil {
		t.Error("a table was paused")
	}
	if len(*calls) > 0 {
		t.Errorf("asked: %+v", *calls)
	}
}

func TestAnInvalidChangeIsNotRequested(t *testing.T) {
	config, calls := account(t, nil)
	for says, command := range map[string][]string{
		"NOT PAUSED: \"\" is not a sale id; name the sale: make pause SALE=moutai\n":      {"pause"},
		"NOT RESCHEDULED: OPENS=\"tomorrow\" is not an instant; give both: OPENS=":        {"reschedule", "-sale", "m", "-opens", "tomorrow", "-closes", "2026-11-11T14:00:00Z"},
		"NOT RESCHEDULED: CLOSES=\"\" is not an instant; give both: OPENS=":               {"reschedule", "-sale", "m", "-opens", "2026-11-11T14:00:00Z"},
		"NOT ADDED: \"\" is not a name; give the request a name that was not used before": {"add", "-sale", "m", "-stock", "5"},
		"NOT ADDED: \"-5\" is not a number of units; give one such as STOCK=50":           {"add", "-sale", "m", "-stock", "-5", "-seed-id", "x"},
		"NOT WITHDRAWN: \"0\" is not a number of units; give one such as STOCK=50":        {"withdraw", "-sale", "m", "-stock", "0", "-seed-id", "x"},
		"NOT RECALLED: say why, for the colleagues who are asked: NOTE='the soles":        {"recall", "-sale", "m", "-yes"},
		"NOT RECALLED: NOTE: invalid-request: note must be at most 500 printable":         {"recall", "-sale", "m", "-yes", "-note", strings.Repeat("x", 501)},
		"NOT ADDED: \"5 0\" is not a number of units; give one such as STOCK=50":          {"add", "-sale", "m", "-stock", "5 0", "-seed-id", "x"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-env", "dev", "-config", config}, command...), &out)
		if !errors.Is(err, errNotDone) || !strings.HasPrefix(out.String(), says) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%v: %v, said %q, want %q", command, err, &out, says)
		}
	}
	if len(*calls) > 0 {
		t.Errorf("asked: %+v", *calls)
	}
}
