// Package targettest stands in for an AWS account and its stack, for tests.
package targettest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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

// File writes a file, and makes the folders above it.
func File(t *testing.T, path, text string) (same string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Offline takes every way to an AWS account away.
func Offline(t *testing.T) {
	t.Helper()
	endpoints(t, "http://127.0.0.1:1")
	set(t, map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "FLASHSALE_ENV": "", "FLASHSALE_URL": "",
	})
}

func set(t *testing.T, variables map[string]string) {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

// endpoints has the SDK call an address. Credentials are got by the last three services, which heed only their own.
func endpoints(t *testing.T, address string) {
	for _, service := range []string{"", "_STS", "_SSO", "_SSO_OIDC"} {
		t.Setenv("AWS_ENDPOINT_URL"+service, address)
	}
}

// serve starts a server that ends with the test.
func serve(t *testing.T, handler http.HandlerFunc) (address string) {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// Account has the SDK call these services, with credentials.
func Account(t *testing.T, services http.HandlerFunc) {
	t.Helper()
	Offline(t)
	endpoints(t, serve(t, services))
	set(t, map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"})
}

// RegionOf is the region in which a request was signed: Credential=ID/DATE/REGION/SERVICE/aws4_request.
func RegionOf(r *http.Request) string {
	return append(strings.Split(r.Header.Get("Authorization"), "/"), "", "", "")[2]
}

// Services answer each operation, or path, by its text: an error if that begins with "refused: ", its code and ": ".
func Services(answers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, target, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		action := cmp.Or(target, r.FormValue("Action"), strings.TrimSuffix(r.URL.Path, "/"))
		answer := cmp.Or(answers[action], "refused: ValidationError: Stack with id "+r.FormValue("StackName")+" does not exist")
		if why, refused := strings.CutPrefix(answer, "refused: "); refused {
			code, message, _ := strings.Cut(why, ": ")
			Refuse(w, r, code, message)
			return
		}
		fmt.Fprint(w, answer)
	}
}

// Quotas are AWS's own of an account without stacks, for Services, with this concurrency of Lambda's.
func Quotas(concurrency, unreserved int) map[string]string {
	return map[string]string{
		"GetCallerIdentity": "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>" +
			"<Arn>arn:aws:iam::123456789012:user/me</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>",
		"/2016-08-19/account-settings": fmt.Sprintf(`{"AccountLimit":{"ConcurrentExecutions":%d,"UnreservedConcurrentExecutions":%d}}`, concurrency, unreserved),
		"DescribeLimits":               `{"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":60000,"TableMaxWriteCapacityUnits":40000}`,
		"/account":                     `{"throttleSettings":{"burstLimit":5000,"rateLimit":10000.0}}`,
	}
}

// Refuse answers with an error, as services of XML and of JSON do.
func Refuse(w http.ResponseWriter, r *http.Request, code, message string) {
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(http.StatusBadRequest)
	if r.FormValue("Action") == "" {
		fmt.Fprintf(w, `{"__type":%q,"message":%q}`, code, message)
		return
	}
	fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", code, message)
}

// Stack has CloudFormation know one stack, shop, with these outputs besides its usual ones, and a user pool.
func Stack(t *testing.T, more map[string]string) {
	t.Helper()
	outputs := map[string]string{
		"ApiUrl": "https://abc.test/", "TableName": "shop-T", "SeedFunctionName": "shop-Seed", "ReconcileFunctionName": "shop-Reconcile",
		"EventBusName":  "shop-orders",
		"OrderQueueUrl": "https://sqs.test/1/orders", "OrderDeadLetterQueueUrl": "https://sqs.test/1/dead", "Version": "0.6.0",
	}
	maps.Copy(outputs, more)
	var pairs string
	for key, value := range outputs {
		pairs += fmt.Sprintf("<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", key, value)
	}
	part := func(kind, id, physical string) string {
		return fmt.Sprintf("<member><ResourceType>%s</ResourceType><LogicalResourceId>%s</LogicalResourceId><PhysicalResourceId>%s</PhysicalResourceId></member>", kind, id, physical)
	}
	set(t, map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL_CLOUDFORMATION": serve(t, func(w http.ResponseWriter, r *http.Request) {
		stack, action := r.FormValue("StackName"), r.FormValue("Action")
		switch {
		case stack != "shop" || RegionOf(r) != Region:
			Refuse(w, r, "ValidationError", "Stack with id "+stack+" does not exist")
		case action == "DescribeStacks":
			fmt.Fprintf(w, "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>", pairs)
		default:
			page, next := part("AWS::IAM::Role", "R", "r")+part("AWS::Cognito::UserPool", "UserPool", "pool"), "<NextToken>2</NextToken>"
			if r.FormValue("NextToken") == "2" {
				page, next = part("AWS::Cognito::UserPoolClient", "UserPoolClient", "client"), ""
			}
			fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><StackResourceSummaries>%[2]s</StackResourceSummaries>%[3]s</%[1]sResult></%[1]sResponse>", action, page, next)
		}
	})})
}
