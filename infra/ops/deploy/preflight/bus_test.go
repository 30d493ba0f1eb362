package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	"flashsale/infra/ops/deploy/demand"
)

type knownBuses map[string]bool

func (k knownBuses) Check(_ context.Context, arn string) error {
	if !k[arn] {
		return errors.New("no such bus")
	}
	return nil
}

func TestTheBusOfTheEventsMustBeThere(t *testing.T) {
	const arn = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
	for _, tt := range []struct {
		name, publish, arn string
		buses              Buses
		want               Verdict // "" for no finding
		says               string
	}{
		{"no events", "false", "", knownBuses{}, "", ""},
		{"a bus without events", "false", arn, knownBuses{}, Warning, "unused"},
		{"the stack's own bus", "true", "", knownBuses{}, OK, "creates"},
		{"a bus that is there", "true", arn, knownBuses{arn: true}, OK, arn},
		{"a bus that is not there", "true", arn, knownBuses{}, Failed, "no such bus"},
		{"a bus of another region", "true", strings.Replace(arn, "us-east-1", "eu-west-1", 1), knownBuses{}, Failed, "another region"},
		{"offline", "true", arn, nil, Warning, "not checked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &report{}
			bus(t.Context(), r, Deployment{Region: "us-east-1", Buses: tt.buses, Demand: demand.Demand{Parameters: []demand.Parameter{
				{Name: "PublishEvents", Value: tt.publish}, {Name: "EventBusArn", Value: tt.arn},
			}}})
			if tt.want == "" {
				if len(r.findings) != 0 {
					t.Errorf("found %+v", r.findings)
				}
				return
			}
			if len(r.findings) != 1 || r.findings[0].Verdict != tt.want || !strings.Contains(r.findings[0].Says, tt.says) {
				t.Errorf("found %+v, want %s with %q", r.findings, tt.want, tt.says)
			}
		})
	}
}

func TestABusIsLookedUpByItsARN(t *testing.T) {
	const arn = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
	there := EventBridge{Program{Words: []string{"sh", "-c", `[ "$*" = "describe-event-bus --name ` + arn + `" ] && echo '{"Arn":"x"}'`}}}
	if err := there.Check(t.Context(), arn); err != nil {
		t.Error(err)
	}
	if err := there.Check(t.Context(), "other"); err == nil {
		t.Error("a bus that is not there is fine")
	}
}
