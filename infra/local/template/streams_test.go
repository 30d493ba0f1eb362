package template

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const streamed = `
Parameters:
  PublishEvents: {Type: String, Default: "false", AllowedValues: ["true", "false"]}
Conditions:
  Publish: !Equals [!Ref PublishEvents, "true"]
Globals:
  Function: {MemorySize: 512}
Resources:
  Ledger:
    Type: AWS::DynamoDB::Table
    Properties:
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      StreamSpecification: !If [Publish, {StreamViewType: NEW_AND_OLD_IMAGES}, !Ref AWS::NoValue]
  Bus:
    Type: AWS::Events::EventBus
    Condition: Publish
    Properties: {Name: !Sub "${AWS::StackName}-events", Description: orders}
  Failures: {Type: AWS::SQS::Queue, Condition: Publish}
  Publisher:
    Type: AWS::Serverless::Function
    Condition: Publish
    Properties:
      Environment: {Variables: {EVENT_BUS_NAME: !Ref Bus, FAILURE_QUEUE_URL: !Ref Failures}}
      Events:
        Stream:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Ledger.StreamArn
            StartingPosition: TRIM_HORIZON
            FunctionResponseTypes: [ReportBatchItemFailures]
            MORE
`

func withMore(more string) string { return strings.Replace(streamed, "MORE", more, 1) }

func TestAStreamIsReadWithLambdasDefaults(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		want       StreamSource
	}{
		{"defaults", "", StreamSource{Table: "Ledger", BatchSize: 100, Parallel: 1}},
		{"everything", `BatchSize: 25
            MaximumBatchingWindowInSeconds: 2
            ParallelizationFactor: 2
            FilterCriteria: {Filters: [{Pattern: '{"dynamodb":{"Keys":{"pk":{"S":["a"]}}}}'}, {Pattern: '{"dynamodb":{"Keys":{"pk":{"S":["b"]}}}}'}]}`,
			StreamSource{
				Table: "Ledger", BatchSize: 25, Window: 2 * time.Second, Parallel: 2,
				Filters: []string{`{"dynamodb":{"Keys":{"pk":{"S":["a"]}}}}`, `{"dynamodb":{"Keys":{"pk":{"S":["b"]}}}}`},
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := parse(t, withMore(tt.more), Options{Parameters: map[string]string{"PublishEvents": "true"}})
			if diff := cmp.Diff([]StreamSource{tt.want}, s.Functions[0].Streams); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]Bus{{"Bus", "events"}}, s.Buses); diff != "" {
				t.Error(diff)
			}
			if env := s.Functions[0].Environment; env["EVENT_BUS_NAME"] != "events" {
				t.Errorf("environment %v", env)
			}
			if s.Tables[0].StreamView != "NEW_AND_OLD_IMAGES" {
				t.Errorf("table %+v", s.Tables[0])
			}
		})
	}
}

func TestWithoutItsParameterThereIsNoStream(t *testing.T) {
	s := parse(t, withMore(""), Options{})
	if len(s.Functions) != 0 || len(s.Buses) != 0 || len(s.Queues) != 0 || s.Tables[0].StreamView != "" {
		t.Errorf("%+v", s)
	}
}

func TestAStreamThatLambdaOrThisStackCannotReadIsRefused(t *testing.T) {
	edit := func(old, replacement string) string { return strings.Replace(withMore(""), old, replacement, 1) }
	for name, text := range map[string]string{
		"another response type":       edit("[ReportBatchItemFailures]", "[ReportBatchItemSuccesses]"),
		"retries that end":            withMore("MaximumRetryAttempts: 3"),
		"records that expire early":   withMore("MaximumRecordAgeInSeconds: 60"),
		"bisecting":                   withMore("BisectBatchOnFunctionError: true"),
		"a destination":               withMore("DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Failures.Arn}}"),
		"a tumbling window":           withMore("TumblingWindowInSeconds: 30"),
		"an empty filter":             withMore("FilterCriteria: {Filters: [{}]}"),
		"another criterion":           withMore("FilterCriteria: {Patterns: []}"),
		"another start":               edit("TRIM_HORIZON", "LATEST"),
		"no start":                    edit("StartingPosition: TRIM_HORIZON", ""),
		"no stream":                   edit("Stream: !GetAtt Ledger.StreamArn", ""),
		"a queue instead":             edit("Ledger.StreamArn", "Failures.Arn"),
		"a stream of another account": edit("!GetAtt Ledger.StreamArn", "arn:aws:dynamodb:us-east-1:1:table/Ledger/stream/x"),
		"a table without a stream":    edit("StreamSpecification: !If [Publish, {StreamViewType: NEW_AND_OLD_IMAGES}, !Ref AWS::NoValue]", ""),
		"no view":                     edit("{StreamViewType: NEW_AND_OLD_IMAGES}", "{}"),
		"a partner's bus":             edit("Description: orders", "EventSourceName: aws.partner/x"),
	} {
		t.Run(name, func(t *testing.T) {
			if text == streamed || text == withMore("") {
				t.Fatal("nothing was changed")
			}
			s, err := Parse("template.yaml", []byte(text), Options{Parameters: map[string]string{"PublishEvents": "true"}})
			if err == nil {
				t.Errorf("read as %+v", s)
			}
		})
	}
}
