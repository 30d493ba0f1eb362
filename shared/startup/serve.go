package startup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Serve hands the function's events to its handler, any number at once, until the process ends.
func Serve(log *telemetry.Log, handler lambda.Handler) { lambda.Start(Guard(log, handler)) }

// Guard makes a panic the failure of its event alone. aws-lambda-go ends the process for one, with all other
// events that are in flight in it. A handler makes most of its panics errors itself, so that its line has them.
func Guard(log *telemetry.Log, handler lambda.Handler) lambda.Handler {
	return invoke(func(ctx context.Context, payload []byte) (answer []byte, err error) {
		panicked := invocation.Try(func() error {
			answer, err = handler.Invoke(ctx, payload)
			return nil
		})
		if panicked == nil {
			return answer, err
		}
		_, cancel, event := log.Begin(ctx)
		defer cancel()
		event.End("panic", sale.Internal, panicked)
		if r, err := httpapi.Decode(payload); err == nil && r.RouteKey != "" { // somebody waits for an HTTP answer
			return json.Marshal(httpapi.Problem(panicked, ""))
		}
		return nil, messages.InvokeResponse_Error{Type: string(sale.Internal), Message: string(sale.Internal)}
	})
}

// JSON is a handler of events as JSON. That of lambda.NewHandler returns a buffer that the next event may
// already be writing to.
func JSON[In, Out any](handle func(context.Context, In) (Out, error)) lambda.Handler {
	return invoke(func(ctx context.Context, payload []byte) ([]byte, error) {
		var in In
		if err := json.Unmarshal(payload, &in); err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, err
		}
		var answer bytes.Buffer
		e := json.NewEncoder(&answer)
		e.SetEscapeHTML(false) // a page is long enough
		err = e.Encode(out)
		return answer.Bytes(), err
	})
}

// invoke implements Lambda's Handler.
type invoke func(context.Context, []byte) ([]byte, error)

func (i invoke) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return i(ctx, payload) }
