// Package placetest stands in for an AWS account and its stack, for tests.
package placetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// Region is where the stack is; the environment names another one.
const Region = "eu-west-1"

// Program puts a shell script on the PATH, in front of a program of that name.
func Program(t *testing.T, name, script string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

// Offline takes every way to an AWS account away.
func Offline(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "FLASHSALE_ENV": "", "FLASHSALE_URL": "",
	} {
		t.Setenv(name, value)
	}
}

// Account has the SDK call these services, with credentials.
func Account(t *testing.T, services http.HandlerFunc) {
	t.Helper()
	Offline(t)
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"} {
		t.Setenv(name, value)
	}
}

// Stack has the AWS CLI know one stack, shop, with these outputs besides its usual ones, and a user pool.
func Stack(t *testing.T, more map[string]string) {
	t.Helper()
	outputs := map[string]string{
		"ApiUrl": "https://abc.test/", "TableName": "shop-T", "SeedFunctionName": "shop-Seed", "ReconcileFunctionName": "shop-Reconcile",
		"EventBusName":  "shop-orders",
		"OrderQueueUrl": "https://sqs.test/1/orders", "OrderDeadLetterQueueUrl": "https://sqs.test/1/dead", "Version": "0.6.0",
	}
	maps.Copy(outputs, more)
	type pair struct{ OutputKey, OutputValue string }
	var pairs []pair
	for key, value := range outputs {
		pairs = append(pairs, pair{key, value})
	}
	text, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	Program(t, "aws", fmt.Sprintf(`case "$*" in
"cloudformation describe-stacks --stack-name shop --region %[1]s") echo '{"Stacks":[{"Outputs":%[2]s}]}';;
"cloudformation list-stack-resources --stack-name shop --region %[1]s") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::IAM::Role","LogicalResourceId":"R","PhysicalResourceId":"r"},
 {"ResourceType":"AWS::Cognito::UserPool","LogicalResourceId":"UserPool","PhysicalResourceId":"pool"},
 {"ResourceType":"AWS::Cognito::UserPoolClient","LogicalResourceId":"UserPoolClient","PhysicalResourceId":"client"}]}';;
*) echo "An error occurred (ValidationError): the stack does not exist: $*" >&2; exit 254;;
esac
`, Region, text))
}
