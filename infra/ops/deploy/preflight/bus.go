package preflight

import (
	"context"
	"strings"
)

// bus checks the bus of the order events. Whether a bus of another account takes them is
// decided by its policy, which cannot be tried before PublishFunction has its role.
func bus(ctx context.Context, r *report, d Deployment) {
	const check = "event bus"
	arn := value(d.Demand, "EventBusArn")
	on := value(d.Demand, "PublishEvents") == "true"
	parts := strings.SplitN(arn, ":", 6) // arn:aws:events:REGION:ACCOUNT:event-bus/NAME
	switch {
	case !on && arn != "":
		r.add(Warning, check, "EventBusArn is unused without PublishEvents=true")
	case !on:
	case arn == "":
		r.add(OK, check, "the stack creates it")
	case len(parts) != 6:
		// CloudFormation refuses the parameter, which is a finding of its own.
	case d.Region != "" && parts[3] != d.Region:
		r.add(Failed, check, "%s is in another region than the stack, %s", arn, d.Region)
	case d.Buses == nil:
		r.add(Warning, check, "%s was not checked", arn)
	default:
		err := d.Buses.Check(ctx, arn)
		r.check(err == nil, check, "%s%s", arn, text(err))
	}
}

// EventBridge checks buses of an account and those of others that let it.
type EventBridge struct{ CLI Program }

// Check implements Buses.
func (b EventBridge) Check(ctx context.Context, arn string) error {
	var found struct{ Arn string }
	return b.CLI.Into(ctx, &found, "events", "describe-event-bus", "--name", arn)
}
