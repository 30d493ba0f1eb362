package template

import (
	"errors"
	"strings"
	"testing"
)

func refused(t *testing.T, text string, o Options) *Error {
	t.Helper()
	_, err := Parse("my.yaml", []byte(text), o)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

func TestWhatCannotBeResolvedNamesItsPlace(t *testing.T) {
	line := 1 + strings.Count(oneVariable[:strings.Index(oneVariable, "%s")], "\n")
	for _, c := range []struct{ value, reason string }{
		{`!ImportValue x`, "!ImportValue cannot be resolved locally"},
		{`{"Fn::Base64": x}`, "must be a string"},
		{`!Ref Nowhere`, `no resource or parameter "Nowhere"`},
		{`!Ref Prod`, "its condition is not met"},
		{`!Ref AWS::StackId`, `no resource or parameter "AWS::StackId"`},
		{`!GetAtt T.StreamArn`, "attribute StreamArn of T"},
		{`!GetAtt T.Arn`, "attribute Arn of T"},
		{`!GetAtt Q`, "needs a logical id and an attribute"},
		{`!GetAtt [Q, Arn]`, "needs a logical id and an attribute"},
		{`!Sub "${Word"`, "without its }"},
		{`!Sub "${Nope}"`, `no resource or parameter "Nope"`},
		{`!Sub "${AWS::NoValue}"`, "has no value"},
		{`!If [Unheard, a, b]`, `no condition "Unheard"`},
		{`!If [IsDev, a]`, "two values"},
		{`!Equals [a, b]`, "!Equals cannot be resolved locally"},
		{`!Split [",", "a,b"]`, "must be a string"},
		{`[a]`, "must be a string"},
	} {
		t.Run(c.value, func(t *testing.T) {
			e := refused(t, replace(oneVariable, c.value), Options{})
			if !strings.Contains(e.Reason, c.reason) {
				t.Errorf("reason %q, want %q in it", e.Reason, c.reason)
			}
			at := "Resources.F.Properties.Environment.Variables.VV"
			if e.File != "my.yaml" || e.Line != line || !strings.HasPrefix(e.At, at) {
				t.Errorf("place %s:%d %s, want my.yaml:%d %s", e.File, e.Line, e.At, line, at)
			}
		})
	}
}

func TestAFunctionThatIsNotNeededIsNotResolved(t *testing.T) {
	parse(t, `
Resources:
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties: {Period: !Select [0, [60]], AlarmActions: [!ImportValue x]}
  Mixed: {Type: Custom::Thing, Properties: {Condition: {StringEquals: {a: b}}}}
Outputs:
  X: {Value: !FindInMap [a, b, c]}
`, Options{})
}

const function = `
Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 10}}
  F:
    Type: AWS::Serverless::Function
    Properties: {%s}
`

func TestWhatDoesNotRunLocallyIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, reason string }{
		{"no yaml", "a: [", "did not find"},
		{"an empty file", "", "empty"},
		{"a list", "[a]", "must be a mapping"},
		{"no resources", "Outputs: {}", "no Resources"},
		{"a type that would run", "Resources: {A: {Type: AWS::Lambda::Function}}", "does not run locally"},
		{"an unknown event type", replace(function, "Events: {E: {Type: S3}}"), "type S3"},
		{"a filter", replace(function, "Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FilterCriteria: {}}}}"), "does not run locally"},
		{"a foreign queue", replace(function, "Events: {E: {Type: SQS, Properties: {Queue: arn:aws:sqs:x:y:z, FunctionResponseTypes: [ReportBatchItemFailures]}}}"), "no queue of this template"},
		{"a response that is not read", replace(function, "Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}}"), "FunctionResponseTypes is missing"},
		{"an authorizer that is missing", replace(function, "Events: {E: {Type: HttpApi, Properties: {ApiId: !Ref A, Method: GET, Path: /, Auth: {Authorizer: X}}}}") + "  A: {Type: AWS::Serverless::HttpApi}\n", `no authorizer "X"`},
		{"a flexible window", replace(function, "Events: {E: {Type: ScheduleV2, Properties: {ScheduleExpression: x, FlexibleTimeWindow: {Mode: FLEXIBLE}}}}"), "does not run locally"},
		{"a fifo queue", "Resources: {A: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true}}}", "does not run locally"},
		{"an index", "Resources: {A: {Type: AWS::DynamoDB::Table, Properties: {GlobalSecondaryIndexes: []}}}", "does not run locally"},
		{"a name that refers to itself", "Resources: {A: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt A.Arn}}}", "nested deeper"},
		{"a condition that depends on itself", "Conditions: {C: !Not [!Condition C]}\nResources: {A: {Type: Custom::A, Condition: C}}", "nested deeper"},
		{"a list as a parameter", "Parameters: {P: {Type: CommaDelimitedList}}", "only the types String and Number"},
		{"a condition of another kind", "Conditions: {C: !Ref AWS::Region}\nResources: {A: {Type: Custom::A, Condition: C}}", "not a condition"},
		{"two APIs", "Resources: {A: {Type: AWS::Serverless::HttpApi}, B: {Type: AWS::Serverless::HttpApi}}", "serves one"},
		{"a token in the query", "Resources: {A: {Type: AWS::Serverless::HttpApi, Properties: {Auth: {Authorizers: {J: {IdentitySource: $request.querystring.t, JwtConfiguration: {issuer: i, audience: [a]}}}}}}}", "must be $request.header.Authorization"},
		{"cookies across origins", "Resources: {A: {Type: AWS::Serverless::HttpApi, Properties: {CorsConfiguration: {AllowCredentials: true}}}}", "does not run locally"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e := refused(t, c.text, Options{}); !strings.Contains(e.Error(), c.reason) {
				t.Errorf("error %q, want %q in it", e, c.reason)
			}
		})
	}
}
