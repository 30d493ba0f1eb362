package lambda

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/lambda"
)

func serve(t *testing.T, s *Service) (*client.Client, string) {
	t.Helper()
	server := httptest.NewServer(s.InvokeHandler())
	t.Cleanup(server.Close)
	return client.New(client.Options{
		BaseEndpoint: aws.String(server.URL), Region: "us-east-1", RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), server.URL
}

func TestTheSDKInvokesAFunctionByItsNameAndSeesItsError(t *testing.T) {
	c, _ := serve(t, open(t, Options{}, function(nil)))
	for payload, want := range map[string][2]string{
		`{"mode":"echo","text":"hi"}`: {`"hi"`, ""},
		`{"mode":"error"}`:            {`{"errorMessage":"no luck","errorType":"errorString"}`, "Unhandled"},
	} {
		out, err := c.Invoke(t.Context(), &client.InvokeInput{FunctionName: aws.String("TestFunction"), Payload: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{string(out.Payload), aws.ToString(out.FunctionError)}; got != want || out.StatusCode != 200 || aws.ToString(out.ExecutedVersion) != "$LATEST" {
			t.Errorf("%s: answer %q, status %d, version %s, want %q", payload, got, out.StatusCode, aws.ToString(out.ExecutedVersion), want)
		}
	}
}

func TestAnInvocationEndsAsOnLambda(t *testing.T) {
	const id = `RequestId: [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} Error: `
	initEnv := func(mode string) func(*Function) {
		return func(f *Function) { f.Env = map[string]string{"INIT": mode} }
	}
	for _, c := range []struct {
		name, payload string
		change        func(*Function)
		options       Options
		functionError string
		response      string // a pattern for all of it
	}{
		{name: "a panic is reported with its stack", payload: `{"mode":"panic"}`,
			functionError: unhandled, response: `{"errorMessage":"at the disco","errorType":"string","stackTrace":.*}`},
		{name: "an exit is reported with its status", payload: `{"mode":"exit","n":3}`,
			functionError: unhandled, response: `{"errorType":"Runtime.ExitError","errorMessage":"` + id + `Runtime exited with error: exit status 3"}`},
		{name: "a function is killed at its timeout", payload: `{"mode":"hang"}`, change: func(f *Function) { f.Timeout = 300 * time.Millisecond },
			functionError: unhandled, response: `{"errorType":"Sandbox.Timedout","errorMessage":"` + id + `Task timed out after 0.30 seconds"}`},
		{name: "a response beyond the limit is an error", payload: `{"mode":"big","n":6291555}`,
			functionError: unhandled, response: `{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"Response payload size exceeded maximum allowed payload size \(6291556 bytes\)."}`},
		{name: "a response at the limit is a result", payload: `{"mode":"big","n":6291554}`, response: `"x+"`},
		{name: "an exit before the first event", change: initEnv("exit"),
			functionError: unhandled, response: `{"errorType":"Runtime.ExitError","errorMessage":"` + id + `Runtime exited with error: exit status 7"}`},
		{name: "a reported failure to start is passed on", change: initEnv("report"),
			functionError: unhandled, response: `{"errorType":"Config","errorMessage":"TABLE_NAME is missing"}`},
		{name: "a start that takes too long", change: initEnv("hang"), options: Options{InitTimeout: 100 * time.Millisecond},
			functionError: unhandled, response: `{"errorType":"Sandbox.Timedout","errorMessage":"` + id + `Task timed out after 0.10 seconds"}`},
		{name: "a program that is not there", change: func(f *Function) { f.Command = "/nowhere/bootstrap" },
			functionError: unhandled, response: `{"errorType":"Runtime.InvalidEntrypoint","errorMessage":"` + id + `.*no such file.*"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, c.options, function(c.change))
			response, functionError := call(t, s, c.payload)
			if functionError != c.functionError {
				t.Errorf("function error %q, want %q", functionError, c.functionError)
			}
			if !regexp.MustCompile("^" + c.response + "$").MatchString(response) {
				t.Errorf("response %.300s, want %s", response, c.response)
			}
		})
	}
}

func TestTheEnvironmentIsLambdasAndTheFunctionsAlone(t *testing.T) {
	t.Setenv("SECRET_OF_THE_PARENT", "x")
	s := open(t, Options{Region: "eu-west-1"}, function(func(f *Function) {
		f.MemoryMB, f.Env = 512, map[string]string{"TABLE_NAME": "Orders", "AWS_ACCESS_KEY_ID": "mine"}
	}))
	response, _ := call(t, s, `{"mode":"environment"}`)
	var list []string
	if err := json.Unmarshal([]byte(response), &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, variable := range list {
		name, value, _ := strings.Cut(variable, "=")
		got[name] = value
	}
	for name, want := range map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "TestFunction", "AWS_LAMBDA_FUNCTION_VERSION": `\$LATEST`, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/TestFunction", "AWS_LAMBDA_LOG_STREAM_NAME": `\d{4}/\d\d/\d\d/\[\$LATEST\][0-9a-f]{32}`,
		"AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_LAMBDA_RUNTIME_API": `127\.0\.0\.1:\d+`,
		"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local",
		"LAMBDA_TASK_ROOT": ".*", "_HANDLER": "bootstrap", "TZ": ":UTC", "LANG": "en_US.UTF-8", "PATH": ".+", "TABLE_NAME": "Orders",
		// The runtime client sets this one for each event, from the trace header.
		"_X_AMZN_TRACE_ID": "Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0",
	} {
		if value, ok := got[name]; !ok || !regexp.MustCompile("^"+want+"$").MatchString(value) {
			t.Errorf("%s=%q, want %s", name, value, want)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("unexpected variables: %v", got)
	}
}
