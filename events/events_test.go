package main

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// strictly decodes JSON and refuses unknown fields.
func strictly(t *testing.T, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Error(err)
	}
}

func TestEveryEventBelongsToAFunction(t *testing.T) {
	files, err := filepath.Glob("*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d events: %v", len(files), err)
	}
	for _, file := range files {
		function, _, _ := strings.Cut(strings.TrimSuffix(file, ".json"), "-")
		if _, err := os.Stat(filepath.Join("../functions", function, "handler", "handler.go")); err != nil {
			t.Errorf("%s: no function is called %q", file, function)
		}
		tests, _ := filepath.Glob(filepath.Join("../functions", function, "handler", "*_test.go"))
		if !slices.ContainsFunc(append(tests, "fill_test.go"), func(test string) bool {
			text, err := os.ReadFile(test)
			return err == nil && bytes.Contains(text, []byte(`"`+file+`"`))
		}) {
			t.Errorf("%s: no test runs it", file)
		}
	}
}

func TestHTTPEventsAreAsAPIGatewaySendsThem(t *testing.T) {
	for _, pattern := range []string{"page*.json", "pay-*.json", "purchase*.json", "query*.json"} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			t.Errorf("no events %s", pattern)
		}
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var r events.APIGatewayV2HTTPRequest
				strictly(t, raw, &r)
				c := r.RequestContext
				if r.Version != "2.0" || c.Stage != "$default" {
					t.Errorf("version %q, stage %q", r.Version, c.Stage)
				}
				if r.RouteKey != c.RouteKey || r.RawPath != c.HTTP.Path {
					t.Errorf("route %q and %q, path %q and %q", r.RouteKey, c.RouteKey, r.RawPath, c.HTTP.Path)
				}
				route := r.RouteKey
				for name, value := range r.PathParameters {
					route = strings.Replace(route, "{"+name+"}", value, 1)
				}
				if want := c.HTTP.Method + " " + r.RawPath; route != want {
					t.Errorf("the route with its parameters is %q, the request %q", route, want)
				}
				for name := range r.Headers {
					if name != strings.ToLower(name) {
						t.Errorf("header %q is not in lower case", name)
					}
				}
				if _, token := r.Headers["authorization"]; token != (c.Authorizer != nil) {
					t.Errorf("there is a token without claims, or there are claims without a token")
				}
			})
		}
	}
}

func TestQueueEventsAreAsSQSSendsThem(t *testing.T) {
	files, _ := filepath.Glob("finalize*.json")
	if len(files) == 0 {
		t.Error("no events")
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var e events.SQSEvent
			strictly(t, raw, &e)
			seen := map[string]bool{}
			for _, m := range e.Records {
				if sum := md5.Sum([]byte(m.Body)); m.Md5OfBody != hex.EncodeToString(sum[:]) {
					t.Errorf("%s: the MD5 is not that of the body", m.MessageId)
				}
				if m.MessageId == "" || seen[m.MessageId] {
					t.Errorf("message id %q is missing or used twice", m.MessageId)
				}
				seen[m.MessageId] = true
				if m.EventSource != "aws:sqs" || !strings.HasPrefix(m.EventSourceARN, "arn:aws:sqs:"+m.AWSRegion+":") || m.ReceiptHandle == "" {
					t.Errorf("%s: source %q, %q, receipt %q", m.MessageId, m.EventSource, m.EventSourceARN, m.ReceiptHandle)
				}
				for _, name := range []string{"ApproximateReceiveCount", "SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} {
					if m.Attributes[name] == "" {
						t.Errorf("%s: no %s", m.MessageId, name)
					}
				}
			}
		})
	}
}
