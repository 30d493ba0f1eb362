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
		{`!ImportValue x`, "Fn::ImportValue cannot be resolved locally"},
		{`!FindInMap [a, b, c]`, "Fn::FindInMap cannot be resolved locally"},
		{`{"Fn::Base64": x}`, "Fn::Base64 cannot be resolved locally"},
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
		{`!Equals [a, b]`, "Fn::Equals cannot be resolved locally"},
		{`!Split [",", "a,b"]`, "must be a string"},
		{`!Join ["", !Split ["", ab]]`, "Fn::Split needs a delimiter"},
		{`!Join ["", !Split [","]]`, "Fn::Split needs a delimiter"},
		{`!Join ["", !Split [",", !Split [",", ab]]]`, "must be a string"},
		{`{Ref: Word, Other: x}`, "only key"},
		{`[a]`, "must be a string"},
		{`~`, "null values"},
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
    Properties: {Handler: bootstrap, Runtime: provided.al2023, %s}
`

func TestWhatAWSWouldRefuseIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, reason string }{
		{"no yaml", "a: [", "did not find"},
		{"an empty file", "", "empty"},
		{"a list", "[a]", "must be a mapping"},
		{"no resources", "Outputs: {}", "no Resources"},
		{"an alias", "Resources: {A: &x {Type: Custom::A}, B: *x}", "aliases"},
		{"a key twice", "Resources: {A: {Type: Custom::A}, A: {Type: Custom::A}}", "stands twice"},
		{"a type that would run", "Resources: {A: {Type: AWS::Lambda::Function}}", "does not run locally"},
		{"a function without handler", "Resources: {A: {Type: AWS::Serverless::Function}}", "needs a Handler"},
		{"a timeout of an hour", replace(function, "Timeout: 3600"), "between 1 and 900"},
		{"no concurrency at all", replace(function, "ReservedConcurrentExecutions: 0"), "between 1 and"},
		{"a strange variable name", replace(function, "Environment: {Variables: {A-B: c}}"), "not a name"},
		{"an unknown event type", replace(function, "Events: {E: {Type: S3}}"), "type S3"},
		{"a filter", replace(function, "Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FilterCriteria: {}}}}"), "does not run locally"},
		{"a foreign queue", replace(function, "Events: {E: {Type: SQS, Properties: {Queue: arn:aws:sqs:x:y:z}}}"), "no queue of this template"},
		{"a large batch without window", replace(function, "Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, BatchSize: 11}}}"), "at least 1"},
		{"a visibility timeout below the function's", replace(function, "Timeout: 11, Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}}"), "below the timeout"},
		{"a flexible window", replace(function, "Events: {E: {Type: ScheduleV2, Properties: {ScheduleExpression: x, FlexibleTimeWindow: {Mode: FLEXIBLE}}}}"), "only OFF"},
		{"a state of its own", replace(function, "Events: {E: {Type: ScheduleV2, Properties: {ScheduleExpression: x, State: MAYBE}}}"), "ENABLED or DISABLED"},
		{"a fifo queue", "Resources: {A: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true}}}", "does not run locally"},
		{"an index", "Resources: {A: {Type: AWS::DynamoDB::Table, Properties: {GlobalSecondaryIndexes: []}}}", "does not run locally"},
		{"a key without definition", "Resources: {A: {Type: AWS::DynamoDB::Table, Properties: {AttributeDefinitions: [], KeySchema: [{AttributeName: a, KeyType: HASH}]}}}", "not in AttributeDefinitions"},
		{"a dead-letter circle", `
Resources:
  A: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt B.Arn, maxReceiveCount: 1}}}
  B: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt A.Arn, maxReceiveCount: 1}}}
`, "circle"},
		{"a name that refers to itself", "Resources: {A: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt A.Arn}}}", "nested deeper"},
		{"a condition that depends on itself", "Conditions: {C: !Not [!Condition C]}\nResources: {A: {Type: Custom::A, Condition: C}}", "nested deeper"},
		{"a list as a parameter", "Parameters: {P: {Type: CommaDelimitedList}}", "only the types String and Number"},
		{"a condition of another kind", "Conditions: {C: !Ref AWS::Region}\nResources: {A: {Type: Custom::A, Condition: C}}", "not a condition"},
		{"two APIs", "Resources: {A: {Type: AWS::Serverless::HttpApi}, B: {Type: AWS::Serverless::HttpApi}}", "serves one"},
		{"a token in the query", "Resources: {A: {Type: AWS::Serverless::HttpApi, Properties: {Auth: {Authorizers: {J: {IdentitySource: $request.querystring.t, JwtConfiguration: {issuer: i, audience: [a]}}}}}}}", "must be $request.header.Authorization"},
		{"cookies across origins", "Resources: {A: {Type: AWS::Serverless::HttpApi, Properties: {CorsConfiguration: {AllowCredentials: true}}}}", "does not run locally"},
		{"a default authorizer that is missing", "Resources: {A: {Type: AWS::Serverless::HttpApi, Properties: {Auth: {DefaultAuthorizer: X}}}}", `no authorizer "X"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e := refused(t, c.text, Options{}); !strings.Contains(e.Error(), c.reason) {
				t.Errorf("error %q, want %q in it", e, c.reason)
			}
		})
	}
}

func TestTheSameRouteTwiceIsRefused(t *testing.T) {
	e := refused(t, `
Resources:
  Api: {Type: AWS::Serverless::HttpApi}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Handler: bootstrap
      Runtime: provided.al2023
      Events:
        A: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: /a}}
        B: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: get, Path: /a}}
`, Options{})
	if e.Line != 11 || !strings.Contains(e.Reason, "same method and path") {
		t.Errorf("got %v, want line 11", e)
	}
}

func TestOneTableNameCannotNameTwoTables(t *testing.T) {
	table := "{Type: AWS::DynamoDB::Table, Properties: {AttributeDefinitions: [{AttributeName: a, AttributeType: S}], KeySchema: [{AttributeName: a, KeyType: HASH}]}}"
	text := "Resources: {A: " + table + ", B: " + table + "}"
	if got := len(parse(t, text, Options{}).Tables); got != 2 {
		t.Errorf("%d tables, want 2", got)
	}
	refused(t, text, Options{TableName: "one"})
}
