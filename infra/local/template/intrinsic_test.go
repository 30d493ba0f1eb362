package template

import (
	"strings"
	"testing"
)

func replace(text, with string) string { return strings.ReplaceAll(text, "%s", with) }

// oneVariable is a template with one function whose variable V is %s.
const oneVariable = `
Parameters:
  Word: {Type: String, Default: hello}
  Stage: {Type: String, Default: dev}
Conditions:
  IsDev: !Equals [!Ref Stage, dev]
  IsProd: !Equals [!Ref Stage, prod]
  Both: !And [!Condition IsDev, !Not [!Condition IsProd]]
  Either: !Or [!Condition IsProd, !Not [!Condition IsDev]]
Resources:
  Q: {Type: AWS::SQS::Queue}
  Prod: {Type: AWS::SQS::Queue, Condition: IsProd}
  T:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
  Log: {Type: AWS::Logs::LogGroup}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Role: !ImportValue somewhere-that-is-not-needed-here
      Environment:
        Variables:
          VV: %s
`

func TestIntrinsicFunctionsResolve(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`plain`, "plain"},
		{`12`, "12"},
		{`True`, "true"},
		{`!Ref Word`, "hello"},
		{`!Ref T`, "T"},
		{`!Ref Q`, "Q"},
		{`!Ref F`, "F"},
		{`!Ref Log`, "Log"},
		{`!Ref AWS::Region`, "us-east-1"},
		{`!GetAtt Q.Arn`, "arn:aws:sqs:us-east-1:000000000000:Q"},
		{`!Sub "${Word} ${Q.Arn} ${AWS::AccountId} ${AWS::Partition}"`, "hello arn:aws:sqs:us-east-1:000000000000:Q 000000000000 aws"},
		{`!If [IsDev, yes-dev, no-dev]`, "yes-dev"},
		{`!If [IsProd, !Ref Prod, !Ref Word]`, "hello"},
		{`!If [Both, x, y]`, "x"},
		{`!If [Either, x, !If [IsDev, z, y]]`, "z"},
	} {
		t.Run(c.value, func(t *testing.T) {
			s := parse(t, replace(oneVariable, c.value), Options{})
			if got := s.Functions[0].Environment["VV"]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAResourceExistsOnlyUnderItsCondition(t *testing.T) {
	text := replace(oneVariable, "x")
	if got := len(parse(t, text, Options{}).Queues); got != 1 {
		t.Errorf("%d queues without the condition, want 1", got)
	}
	prod := Options{Parameters: map[string]string{"Stage": "prod"}}
	if got := len(parse(t, text, prod).Queues); got != 2 {
		t.Errorf("%d queues with the condition, want 2", got)
	}
}

func TestAVariableWithoutAValueIsLeftOut(t *testing.T) {
	s := parse(t, replace(oneVariable, `!If [IsDev, !Ref "AWS::NoValue", x]`), Options{})
	if v, ok := s.Functions[0].Environment["VV"]; ok {
		t.Errorf("the variable is %q, want none", v)
	}
}
