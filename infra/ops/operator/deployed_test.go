package operator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target/targettest"
)

type call struct {
	Region, Name string
	Body         map[string]any
}

// account is an AWS account with the stack of the environment dev, whose services give the test's answers, by
// operation. It returns the calls.
func account(t *testing.T, answers map[string]string) (config string, calls *[]call) {
	t.Helper()
	calls = &[]call{}
	targettest.Account(t, func(w http.ResponseWriter, r *http.Request) {
		// Credential=ID/DATE/REGION/SERVICE/aws4_request
		c := call{Region: strings.Split(r.Header.Get("Authorization"), "/")[2], Name: r.Header.Get("X-Amz-Target")}
		if err := json.NewDecoder(r.Body).Decode(&c.Body); err != nil {
			t.Error(err)
		}
		*calls = append(*calls, c)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		answer := cmp.Or(answers[c.Name], "{}")
		if strings.HasPrefix(answer, `{"__type"`) {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprint(w, answer)
	})
	targettest.Stack(t, map[string]string{"OperateFunctionName": "shop-Operate"})
	section := "[%s.deploy.parameters]\nstack_name = %q\nregion = %q\n"
	return file(t, fmt.Sprintf(section+section, "dev", "shop", targettest.Region, "other", "none", targettest.Region)), calls
}

// inDev runs a command on the stack of the environment dev.
func inDev(t *testing.T, config string, command ...string) (said string, code int) {
	t.Helper()
	return (&target{}).at(t.Context(), nil, nil, append(command, "--env", "dev", "--config", config)...)
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
	said, code := (&target{}).at(t.Context(), typing("n\n"), nil, "queue", "redrive", "--drop-poison", "--env", "dev", "--config", config)
	if want := "stack shop, environment dev, in eu-west-1:\nDelete the messages"; code != cli.ExitBad || !strings.HasPrefix(said, want) {
		t.Errorf("exit %d, %q, want the question %q", code, said, want)
	}
	want := []string{"eu-west-1 DynamoDB_20120810.Query shop-T <nil>", "eu-west-1 AmazonSQS.GetQueueAttributes <nil> https://sqs.test/1/dead"}
	if diff := gocmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
