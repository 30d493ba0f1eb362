package lambda

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
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

func TestTheSDKInvokesAFunctionByEveryKindOfName(t *testing.T) {
	c, _ := serve(t, open(t, Options{}, function(nil)))
	for _, name := range []string{
		"TestFunction", "TestFunction:live", "TestFunction:$LATEST", "000000000000:function:TestFunction",
		"arn:aws:lambda:us-east-1:000000000000:function:TestFunction", "arn:aws:lambda:us-east-1:000000000000:function:TestFunction:live",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := c.Invoke(t.Context(), &client.InvokeInput{FunctionName: aws.String(name), Payload: []byte(`{"mode":"echo","text":"hi"}`)})
			if err != nil {
				t.Fatal(err)
			}
			if string(out.Payload) != `"hi"` || out.StatusCode != 200 || out.FunctionError != nil || aws.ToString(out.ExecutedVersion) != "$LATEST" {
				t.Errorf("answer %s, status %d, error %v, version %s", out.Payload, out.StatusCode, out.FunctionError, aws.ToString(out.ExecutedVersion))
			}
		})
	}
}

func TestTheSDKSeesAFunctionsError(t *testing.T) {
	c, _ := serve(t, open(t, Options{}, function(nil)))
	out, err := c.Invoke(t.Context(), &client.InvokeInput{FunctionName: aws.String("TestFunction"), Payload: []byte(`{"mode":"error"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out.Payload), `{"errorMessage":"no luck","errorType":"errorString"}`; got != want || aws.ToString(out.FunctionError) != "Unhandled" {
		t.Errorf("answer %s, error %v, want %s, Unhandled", got, aws.ToString(out.FunctionError), want)
	}
}

func TestRefusalsOfTheInvokeAPI(t *testing.T) {
	s := open(t, Options{}, function(nil))
	c, _ := serve(t, s)
	input := func(change func(*client.InvokeInput)) *client.InvokeInput {
		in := &client.InvokeInput{FunctionName: aws.String("TestFunction")}
		change(in)
		return in
	}
	for _, tc := range []struct {
		name    string
		input   *client.InvokeInput
		code    string
		status  int
		message string
	}{
		{"an unknown function", input(func(in *client.InvokeInput) { in.FunctionName = aws.String("Nobody") }),
			"ResourceNotFoundException", 404, "Function not found: arn:aws:lambda:us-east-1:000000000000:function:Nobody"},
		{"a dry run of an unknown function", input(func(in *client.InvokeInput) {
			in.FunctionName, in.InvocationType = aws.String("Nobody"), types.InvocationTypeDryRun
		}), "ResourceNotFoundException", 404, "Function not found"},
		{"a payload that is not JSON", input(func(in *client.InvokeInput) { in.Payload = []byte("{") }),
			"InvalidRequestContentException", 400, "Could not parse request body into json"},
		{"a payload above 6 MiB", input(func(in *client.InvokeInput) { in.Payload = []byte(`"` + strings.Repeat("x", 8<<20) + `"`) }),
			"RequestTooLargeException", 413, "payload is too large"},
		{"an asynchronous payload above 1 MiB", input(func(in *client.InvokeInput) {
			in.Payload, in.InvocationType = []byte(`"`+strings.Repeat("x", 1<<20)+`"`), types.InvocationTypeEvent
		}), "RequestTooLargeException", 413, "payload is too large"},
		{"an unknown invocation type", input(func(in *client.InvokeInput) { in.InvocationType = "Later" }),
			"InvalidParameterValueException", 400, "Invocation type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := c.Invoke(t.Context(), tc.input)
			var api smithy.APIError
			if !errors.As(err, &api) || api.ErrorCode() != tc.code || !strings.Contains(api.ErrorMessage(), tc.message) {
				t.Errorf("Invoke: %v, want %s: %s", err, tc.code, tc.message)
			}
			var response interface{ HTTPStatusCode() int }
			if !errors.As(err, &response) || response.HTTPStatusCode() != tc.status {
				t.Errorf("Invoke: %v, want status %d", err, tc.status)
			}
		})
	}
	if n := len(s.Processes("TestFunction")); n != 0 {
		t.Errorf("%d processes were started for refused requests", n)
	}
}

func TestADryRunStartsNothing(t *testing.T) {
	s := open(t, Options{}, function(nil))
	c, _ := serve(t, s)
	out, err := c.Invoke(t.Context(), &client.InvokeInput{FunctionName: aws.String("TestFunction"), InvocationType: types.InvocationTypeDryRun})
	if err != nil || out.StatusCode != 204 {
		t.Errorf("dry run: %+v, %v, want status 204", out, err)
	}
	if n := len(s.Processes("TestFunction")); n != 0 {
		t.Errorf("%d processes", n)
	}
}

func TestTheTailOfTheLogIsThisInvocationsAlone(t *testing.T) {
	c, _ := serve(t, open(t, Options{}, function(nil)))
	tail := func(payload string) string {
		out, err := c.Invoke(t.Context(), &client.InvokeInput{
			FunctionName: aws.String("TestFunction"), Payload: []byte(payload), LogType: types.LogTypeTail,
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := tail(`{"mode":"print","text":"first"}`); got != "first\n" {
		t.Errorf("log %q", got)
	}
	if got := tail(`{"mode":"print","text":"second"}`); got != "second\n" {
		t.Errorf("log %q", got)
	}
	if got := tail(`{"mode":"print","text":"` + strings.Repeat("x", 9000) + `"}`); got != strings.Repeat("x", 4095)+"\n" {
		t.Errorf("log of %d bytes, want the last 4096", len(got))
	}
	if got := tail(`{"mode":"exit","n":1}`); !strings.Contains(got, "exit status 1") {
		t.Errorf("log %q, want the exit", got)
	}
}

func TestAnAsynchronousInvocation(t *testing.T) {
	for _, tc := range []struct {
		name, payload string
		tries         int
		dropped       bool
	}{
		{"runs once when it succeeds", `{"mode":"echo"}`, 1, false},
		{"is tried three times, under one request id, and then dropped with a line in the log", `{"mode":"error"}`, 3, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var logs logBook
			var tries atomic.Int32
			ids := make(chan string, 10)
			s := open(t, Options{Logs: &logs, RetryPause: time.Millisecond, AfterResponse: func(_, id string) bool {
				tries.Add(1)
				ids <- id
				return false
			}}, function(nil))
			c, _ := serve(t, s)
			out, err := c.Invoke(t.Context(), &client.InvokeInput{
				FunctionName: aws.String("TestFunction"), InvocationType: types.InvocationTypeEvent, Payload: []byte(tc.payload),
			})
			if err != nil || out.StatusCode != 202 || len(out.Payload) != 0 {
				t.Fatalf("Invoke: %+v, %v, want status 202 and nothing else", out, err)
			}
			first := <-ids
			eventually(t, "its tries", func() bool { return int(tries.Load()) == tc.tries })
			eventually(t, "the line about it", func() bool { return strings.Contains(logs.String(), `"dropped"`) == tc.dropped })
			for range tc.tries - 1 {
				if id := <-ids; id != first {
					t.Errorf("request ids %s and %s", first, id)
				}
			}
			// A synchronous call waits until all earlier attempts have run.
			call(t, s, `{}`)
			if got := int(tries.Load()); got != tc.tries+1 {
				t.Errorf("%d tries, want %d", got-1, tc.tries)
			}
		})
	}
}

func TestAnAsynchronousInvocationIsKnownByItsRequestID(t *testing.T) {
	ids := make(chan string, 1)
	s := open(t, Options{AfterResponse: func(_, id string) bool { ids <- id; return false }}, function(nil))
	id, err := s.InvokeAsync("TestFunction", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-ids; got != id {
		t.Errorf("the function ran as %s, want %s", got, id)
	}
	if _, err := s.InvokeAsync("Nobody", nil); !errors.Is(err, ErrFunctionNotFound) {
		t.Errorf("InvokeAsync: %v, want ErrFunctionNotFound", err)
	}
}

func TestUnknownOperationsAreRefusedAsSuch(t *testing.T) {
	_, url := serve(t, open(t, Options{}, function(nil)))
	for _, tc := range []struct{ method, path string }{
		{http.MethodGet, "/"}, {http.MethodGet, "/2015-03-31/functions/TestFunction/invocations"},
		{http.MethodGet, "/2015-03-31/functions/TestFunction"}, {http.MethodPost, "/2014-11-13/functions/TestFunction/invoke-async"},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, url+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != 404 || resp.Header.Get("X-Amzn-ErrorType") != "UnknownOperationException" || resp.Header.Get("X-Amzn-RequestId") == "" {
				t.Errorf("status %d, headers %v, body %s", resp.StatusCode, resp.Header, body)
			}
		})
	}
}

func TestARequestAfterCloseIsTheServicesFault(t *testing.T) {
	s := open(t, Options{}, function(nil))
	c, _ := serve(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Invoke(context.Background(), &client.InvokeInput{FunctionName: aws.String("TestFunction")})
	var fault *types.ServiceException
	if !errors.As(err, &fault) {
		t.Errorf("Invoke: %v, want a ServiceException", err)
	}
}

func FuzzTheFunctionsNameHasNoColon(f *testing.F) {
	for _, seed := range []string{"F", "F:live", "1:function:F", "arn:aws:lambda:r:1:function:F:live", ":", "function:", "", "a:function:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		name := functionName(reference)
		if strings.Contains(name, ":") || !strings.Contains(reference, name) {
			t.Errorf("%q became %q", reference, name)
		}
	})
}
