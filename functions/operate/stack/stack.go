// Package stack is what OperateFunction asks of its stack besides the table: how many messages
// its queues hold, which of its alarms ring, how its purchases are answered, a pass of
// ReconcileFunction, and the dead letters of the orders.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	alarms "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	functions "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	queues "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/shared/sale"
)

// Queue is one of the stack's queues.
type Queue int

const (
	// Orders are the messages of accepted orders.
	Orders Queue = iota
	// DeadOrders are those that could not be finalized.
	DeadOrders
	// DeadSchedules are requests of schedules that failed after all retries.
	DeadSchedules
	// DeadEvents are records of the table's stream that became no event.
	DeadEvents
	count
)

// Stack is safe for concurrent use.
type Stack struct {
	sqs        *sqs.Client
	cloudwatch *cloudwatch.Client
	lambda     *lambda.Client
	urls       [count]string
	reconcile  string // function
	name       string
	alarm      *regexp.Regexp
}

// FromEnv returns the stack of the environment. A queue may be missing only if the stack
// publishes no events.
func FromEnv(cfg aws.Config) (*Stack, error) {
	s := &Stack{
		sqs: sqs.NewFromConfig(cfg), cloudwatch: cloudwatch.NewFromConfig(cfg), lambda: lambda.NewFromConfig(cfg),
		urls: [count]string{
			Orders: os.Getenv("ORDER_QUEUE_URL"), DeadOrders: os.Getenv("DEAD_LETTER_QUEUE_URL"),
			DeadSchedules: os.Getenv("SCHEDULE_QUEUE_URL"), DeadEvents: os.Getenv("FAILURE_QUEUE_URL"),
		},
		reconcile: os.Getenv("RECONCILE_FUNCTION"), name: os.Getenv("STACK_NAME"),
	}
	for _, given := range append(s.urls[:DeadEvents:DeadEvents], s.reconcile) {
		if given == "" {
			return nil, errors.New(
				"ORDER_QUEUE_URL, DEAD_LETTER_QUEUE_URL, SCHEDULE_QUEUE_URL and RECONCILE_FUNCTION are needed")
		}
	}
	// CloudFormation's name of an alarm of the stack or of a nested one. Another stack's name may
	// begin with this one's.
	s.alarm = regexp.MustCompile("^" + regexp.QuoteMeta(s.name) +
		`-(?:(?:Alarms|Front)-[0-9A-Z]+-)?([A-Za-z]+Alarm)-[0-9A-Za-z]+$`)
	return s, nil
}

// Has reports whether the stack has that queue.
func (s *Stack) Has(q Queue) bool { return s.urls[q] != "" }

// depths are the attributes that together count every message of a queue.
var depths = []queues.QueueAttributeName{
	queues.QueueAttributeNameApproximateNumberOfMessages,
	queues.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	queues.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// Depth returns about how many messages the queue holds, those in flight included.
func (s *Stack) Depth(ctx context.Context, q Queue) (int64, error) {
	out, err := s.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &s.urls[q], AttributeNames: depths})
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	total := int64(0)
	for _, name := range depths {
		n, err := strconv.ParseInt(out.Attributes[string(name)], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("count messages: %s: %w", name, err)
		}
		total += n
	}
	return total, nil
}

// Alarm is one that rings.
type Alarm struct {
	Name  string // in the template
	Says  string // its description
	Since time.Time
}

// Ringing returns the alarms that ring, at most 100.
func (s *Stack) Ringing(ctx context.Context) ([]Alarm, error) {
	out, err := s.cloudwatch.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
		AlarmNamePrefix: aws.String(s.name + "-"), StateValue: alarms.StateValueAlarm, MaxRecords: aws.Int32(100),
	})
	if err != nil {
		return nil, fmt.Errorf("look at alarms: %w", err)
	}
	var all []Alarm
	for _, a := range out.MetricAlarms {
		if name := s.alarm.FindStringSubmatch(aws.ToString(a.AlarmName)); name != nil {
			all = append(all, Alarm{name[1], aws.ToString(a.AlarmDescription), aws.ToTime(a.StateUpdatedTimestamp)})
		}
	}
	return all, nil
}

// Reconcile asks ReconcileFunction and reads its answer into answer. It fails with the code of
// the function's error, or with sale.Busy: while the minute's pass runs, another one is refused. A
// pass goes on when ctx ends.
func (s *Stack) Reconcile(ctx context.Context, request, answer any) error {
	payload, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	in := lambda.InvokeInput{FunctionName: &s.reconcile, Payload: payload}
	out, err := s.lambda.Invoke(ctx, &in, func(o *lambda.Options) {
		o.Retryer = aws.NopRetryer{} // the caller repeats it
	})
	if throttled := (*functions.TooManyRequestsException)(nil); errors.As(err, &throttled) {
		return sale.Fail(sale.Busy, err)
	}
	if err != nil {
		return fmt.Errorf("invoke ReconcileFunction: %w", err)
	}
	if out.FunctionError != nil {
		var failure struct{ ErrorType, ErrorMessage string }
		_ = json.Unmarshal(out.Payload, &failure)
		if failure.ErrorType == string(sale.SaleNotFound) {
			return sale.Refuse(sale.SaleNotFound, "no such sale")
		}
		return sale.Fail(sale.Busy, fmt.Errorf("ReconcileFunction failed: %s", failure.ErrorMessage))
	}
	return json.Unmarshal(out.Payload, answer)
}

// DeadLetter is a message of DeadOrders, hidden from others for hidden.
type DeadLetter struct{ Body, receipt string }

// hidden is longer than one request takes.
const hidden = 30 * time.Second

// DeadLetters returns at most ten dead letters of orders, and none if it sees no more.
func (s *Stack) DeadLetters(ctx context.Context) ([]DeadLetter, error) {
	out, err := s.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &s.urls[DeadOrders], MaxNumberOfMessages: 10, VisibilityTimeout: int32(hidden / time.Second),
		WaitTimeSeconds: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	var all []DeadLetter
	for _, m := range out.Messages {
		all = append(all, DeadLetter{aws.ToString(m.Body), aws.ToString(m.ReceiptHandle)})
	}
	return all, nil
}

// SendBack moves a dead letter back to Orders. It is sent before it is deleted: twice does no
// harm (P9).
func (s *Stack) SendBack(ctx context.Context, d DeadLetter) error {
	in := sqs.SendMessageInput{QueueUrl: &s.urls[Orders], MessageBody: &d.Body}
	if _, err := s.sqs.SendMessage(ctx, &in); err != nil {
		return fmt.Errorf("send dead letter back: %w", err)
	}
	return s.Delete(ctx, d)
}

// Delete deletes a dead letter.
func (s *Stack) Delete(ctx context.Context, d DeadLetter) error {
	in := sqs.DeleteMessageInput{QueueUrl: &s.urls[DeadOrders], ReceiptHandle: &d.receipt}
	if _, err := s.sqs.DeleteMessage(ctx, &in); err != nil {
		return fmt.Errorf("delete dead letter: %w", err)
	}
	return nil
}
