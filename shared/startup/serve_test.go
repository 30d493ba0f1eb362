package startup

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"flashsale/shared/clock"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// The handlers' own panics are those of infra/proof/handlers.
func TestAPanicThatNoHandlerMakesAnErrorIsLoggedAndFailsItsEventAlone(t *testing.T) {
	panics := JSON(func(context.Context, map[string]any) (string, error) { panic("ledger-7 is on fire") })
	for event, want := range map[string]string{
		`{"routeKey":"GET /"}`: `"statusCode":500`,
		`{"Records":[]}`:       `Type:"internal"`,
	} {
		var log bytes.Buffer
		answer, err := Guard(telemetry.New(&log, "page", clock.Wall), panics).Invoke(t.Context(), []byte(event))
		if got := fmt.Sprintf("%s %v", answer, err); !strings.Contains(got, want) || strings.Contains(got, "ledger-7") {
			t.Errorf("%s: got %s, want %s", event, got, want)
		}
		line, err := telemetrytest.Parse(log.Bytes())
		if stack, _ := line.Fields["stackTrace"].(string); err != nil || line.Fields["error"] != "panic: ledger-7 is on fire" || !strings.Contains(stack, "startup.Test") {
			t.Errorf("%s: got the line %v (%v), want the panic and its stack", event, line.Fields, err)
		}
	}
}
