package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/cli"
)

// call is a request to AWS: the service, the region and the operation.
type call struct {
	Region, Service, Name string
	Body                  map[string]any
}

// offline takes every way to an AWS account away.
func offline(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
	} {
		t.Setenv(name, value)
	}
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
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(body, &c.Body)); err != nil {
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
"cloudformation describe-stacks --stack-name shop --region eu-west-1") echo '{"Stacks":[{"Outputs":[{"OutputKey":"OperateFunctionName","OutputValue":"shop-Operate:live"},
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test"},{"OutputKey":"TableName","OutputValue":"shop-Table"},
 {"OutputKey":"SeedFunctionName","OutputValue":"shop-Seed:live"},{"OutputKey":"ReconcileFunctionName","OutputValue":"shop-Reconcile:live"},{"OutputKey":"EventBusName","OutputValue":"shop-orders"},
 {"OutputKey":"OrderQueueUrl","OutputValue":"https://sqs.test/1/orders"},{"OutputKey":"OrderDeadLetterQueueUrl","OutputValue":"https://sqs.test/1/dead"}]}]}';;
*"--stack-name none "*) echo "An error occurred (ValidationError): Stack with id none does not exist" >&2; exit 254;;
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

// inDev runs a command on the stack of the environment dev.
func inDev(t *testing.T, config string, command ...string) (said string, code int) {
	t.Helper()
	return (&place{}).at(t, nil, nil, append(command, "--env", "dev", "--config", config)...)
}

func TestAnEnvironmentsTableAndQueuesAreThoseOfItsStack(t *testing.T) {
	config, calls := account(t, map[string]string{"AmazonSQS.GetQueueAttributes": `{"Attributes":{"ApproximateNumberOfMessages":"0"}}`, "DynamoDB_20120810.Query": `{"Items":[],"Count":0}`})
	for _, command := range []string{"books list", "queue show"} {
		if said, code := inDev(t, config, strings.Fields(command)...); code != cli.ExitFine {
			t.Errorf("%s: exit %d\n%s", command, code, said)
		}
	}
	var asked []string
	for _, c := range *calls {
		asked = append(asked, fmt.Sprintf("%s %s %v %v", c.Region, c.Name, c.Body["TableName"], c.Body["QueueUrl"]))
	}
	want := []string{"eu-west-1 DynamoDB_20120810.Query shop-Table <nil>", "eu-west-1 AmazonSQS.GetQueueAttributes <nil> https://sqs.test/1/dead"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
