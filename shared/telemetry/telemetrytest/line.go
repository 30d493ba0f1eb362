// Package telemetrytest reads log lines as their users do: log queries, CloudWatch's
// metric extraction, and a search for personal data, which must find none.
//
// It checks what all lines of all functions have in common. It is for tests.
package telemetrytest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Line is one log line.
type Line struct {
	// Fields are its members, except the release's version, those that vary between runs
	// (timestamp, ms, dynamodbMs, sqsMs) and the metrics' directives.
	Fields map[string]any
	// Metrics are the metrics' units and dimensions, such as "Count by service,
	// result".
	Metrics map[string]string
}

// Diff says how the line's members and metrics differ from those; "" if they do not.
func (l Line) Diff(fields map[string]any, metrics map[string]string) string {
	return cmp.Diff(fields, l.Fields) + cmp.Diff(metrics, l.Metrics)
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []struct{ Name, Unit string }
}

// Parse reads a log of exactly one line. It fails if the line lacks a required member,
// has duplicate names, or describes its metrics in a way that CloudWatch does not
// accept.
func Parse(log []byte) (Line, error) {
	text, ok := bytes.CutSuffix(log, []byte("\n"))
	if !ok || bytes.ContainsAny(text, "\n\r") {
		return Line{}, fmt.Errorf("read log: not one line: %q", log)
	}
	line := Line{Metrics: map[string]string{}}
	// This decoder refuses duplicate names; CloudWatch's queries do not.
	if err := jsonv2.Unmarshal(text, &line.Fields); err != nil {
		return Line{}, fmt.Errorf("read log: %w: %q", err, log)
	}
	return line, errors.Join(line.common(), line.metrics(text))
}

// ByName reads a log of many lines and empties it. A line is named by the texts of those
// members that it has, separated by spaces; it fails if two have one name.
func ByName(log *bytes.Buffer, members ...string) (map[string]Line, error) {
	all := map[string]Line{}
	var errs []error
	for text := range bytes.Lines(log.Bytes()) {
		line, err := Parse(text)
		errs = append(errs, err)
		var names []string
		for _, member := range members {
			if name, ok := line.Fields[member].(string); ok {
				names = append(names, name)
			}
		}
		name := strings.Join(names, " ")
		if _, double := all[name]; double {
			errs = append(errs, fmt.Errorf("two lines say %q", name))
		}
		all[name] = line
	}
	log.Reset()
	return all, errors.Join(errs...)
}

// common checks and removes the members that every line has.
func (l *Line) common() error {
	var errs []error
	for name, of := range map[string][]any{
		"level": {"DEBUG", "INFO", "WARN", "ERROR"}, "coldStart": {true, false}, "message": nil, "service": nil,
		"outcome": nil,
	} {
		text, isText := l.Fields[name].(string)
		if of == nil && (!isText || text == "") || of != nil && !slices.Contains(of, l.Fields[name]) {
			errs = append(errs, fmt.Errorf("%s is %v", name, l.Fields[name]))
		}
	}
	if l.Fields["version"] != sale.ProgramVersion {
		errs = append(errs, fmt.Errorf("version is %v", l.Fields["version"]))
	}
	delete(l.Fields, "version")
	at, _ := l.Fields["timestamp"].(string)
	if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
		errs = append(errs, err)
	}
	for _, name := range []string{"ms", "dynamodbMs", "sqsMs"} {
		if ms, isNumber := l.Fields[name].(float64); !isNumber || ms < 0 {
			errs = append(errs, fmt.Errorf("%s is %v", name, l.Fields[name]))
		}
		delete(l.Fields, name)
	}
	delete(l.Fields, "timestamp")
	return errors.Join(errs...)
}

// metrics checks and removes the directives.
func (l *Line) metrics(text []byte) error {
	var embedded struct {
		AWS *struct {
			Timestamp         int64
			CloudWatchMetrics []directive
		} `json:"_aws"`
	}
	if err := jsonv2.Unmarshal(text, &embedded); err != nil {
		return err
	}
	delete(l.Fields, "_aws")
	if embedded.AWS == nil {
		return nil
	}
	var errs []error
	if embedded.AWS.Timestamp <= 0 || len(embedded.AWS.CloudWatchMetrics) == 0 {
		errs = append(errs, fmt.Errorf("_aws is %+v", embedded.AWS))
	}
	for _, d := range embedded.AWS.CloudWatchMetrics {
		if d.Namespace != telemetry.Namespace || len(d.Dimensions) != 1 || len(d.Metrics) == 0 {
			errs = append(errs, fmt.Errorf("directive %+v", d))
			continue
		}
		for _, name := range d.Dimensions[0] {
			value, ok := l.Fields[name].(string)
			// Anything else could have one value per buyer.
			if !ok || value == "" || !slices.Contains([]string{"stack", "service", "result"}, name) {
				errs = append(errs, fmt.Errorf("dimension %s is %v", name, l.Fields[name]))
			}
		}
		for _, m := range d.Metrics {
			if _, ok := l.Fields[m.Name].(float64); !ok {
				errs = append(errs, fmt.Errorf("metric %s is %v", m.Name, l.Fields[m.Name]))
			}
			if l.Metrics[m.Name] != "" {
				errs = append(errs, fmt.Errorf("metric %s is counted twice", m.Name))
			}
			l.Metrics[m.Name] = m.Unit + " by " + strings.Join(d.Dimensions[0], ", ")
		}
	}
	return errors.Join(errs...)
}

// secrets are what Confide puts into a request and no log may contain.
var secrets = []string{
	"header.claims.signature", "alice@example.com", "Alice Liddell", "+49 151 555", "198.51.100.77", "Wonder/1.0",
	"session=5f4dcc3b", "sesame-sesame-sesame-sesame-sesame", "coupon-98", "Christ Church",
}

// Confide adds private data to a request: a token, names, addresses, cookies.
func Confide(r *events.APIGatewayV2HTTPRequest) {
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	for name, value := range map[string]string{
		"authorization": "Bearer " + secrets[0], "x-forwarded-for": secrets[4], "user-agent": secrets[5],
		"cookie": secrets[6], "x-origin-verify": secrets[7], "referer": "https://example.com/?coupon=" + secrets[8],
	} {
		r.Headers[name] = value
	}
	if a := r.RequestContext.Authorizer; a != nil && a.JWT != nil {
		for name, value := range map[string]string{
			"email": secrets[1], "name": secrets[2], "phone_number": secrets[3], "address": secrets[9],
		} {
			a.JWT.Claims[name] = value
		}
	}
	r.RequestContext.HTTP.SourceIP, r.RequestContext.HTTP.UserAgent = secrets[4], secrets[5]
	r.Cookies = []string{secrets[6]}
	r.RawQueryString = "email=" + secrets[1]
	r.QueryStringParameters = map[string]string{"email": secrets[1], "coupon": secrets[8]}
}

// Told returns the private data of Confide that a log contains.
func Told(log []byte) (found []string) {
	for _, secret := range secrets {
		if bytes.Contains(log, []byte(secret)) {
			found = append(found, secret)
		}
	}
	return found
}
