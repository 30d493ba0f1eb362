package template

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string, o Options) *Stack {
	t.Helper()
	s, err := Parse("template.yaml", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFunctionsGetSAMDefaultsGlobalsAndTheirEvents(t *testing.T) {
	s := parse(t, `
Globals:
  Function:
    MemorySize: 512
    Environment: {Variables: {AA: global, BB: global, ON: true}}
Resources:
  Plain: {Type: AWS::Serverless::Function}
  Busy:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 20
      MemorySize: 256
      ReservedConcurrentExecutions: 1
      Environment: {Variables: {BB: own, CC: !Ref "AWS::NoValue"}}
      Events:
        Q:
          Type: SQS
          Properties: {Queue: !GetAtt Work.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}
        W:
          Type: SQS
          Properties:
            Queue: !GetAtt Slow.Arn
            BatchSize: 25
            MaximumBatchingWindowInSeconds: 1
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: 20}
        S:
          Type: ScheduleV2
          Properties: {ScheduleExpression: rate(1 day)}
        T:
          Type: ScheduleV2
          Properties:
            ScheduleExpression: cron(0 9 ? * MON *)
            ScheduleExpressionTimezone: Asia/Shanghai
            State: DISABLED
            Input: '{"a":1}'
            RetryPolicy: {MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60}
  Work: {Type: AWS::SQS::Queue}
  Slow: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 20}}
`, Options{})
	want := []Function{
		{
			LogicalID:   "Busy",
			Environment: map[string]string{"AA": "global", "BB": "own", "ON": "true"},
			Timeout:     20 * time.Second, MemoryMB: 256, ReservedConcurrency: 1,
			Queues: []QueueSource{
				{Queue: "Work", BatchSize: 10},
				{Queue: "Slow", BatchSize: 25, Window: time.Second, MaximumConcurrency: 20},
			},
			Schedules: []Schedule{
				{Name: "BusyS", Expression: "rate(1 day)", Timezone: "UTC", Enabled: true, RetryAttempts: 185, MaxEventAge: 24 * time.Hour},
				{Name: "BusyT", Expression: "cron(0 9 ? * MON *)", Timezone: "Asia/Shanghai", Input: `{"a":1}`, MaxEventAge: time.Minute},
			},
		},
		{
			LogicalID:   "Plain",
			Environment: map[string]string{"AA": "global", "BB": "global", "ON": "true"},
			Timeout:     3 * time.Second, MemoryMB: 512,
		},
	}
	if diff := cmp.Diff(want, s.Functions); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
}

func TestRoutesFollowSAMsAuthorizerRules(t *testing.T) {
	s := parse(t, `
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: {AllowOrigins: ["https://shop.example"], AllowMethods: [GET], MaxAge: 60}
      DefaultRouteSettings: {ThrottlingRateLimit: 50.5, ThrottlingBurstLimit: 100}
      RouteSettings: {"POST /c": {ThrottlingRateLimit: 7}}
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers:
          Jwt:
            IdentitySource: $request.header.Authorization
            JwtConfiguration: {issuer: "https://issuer", audience: [a, b]}
          Staff:
            IdentitySource: $request.header.Authorization
            JwtConfiguration: {issuer: "https://staff", audience: [c]}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        A: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: /a}}
        B: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: "/b/{id}", Auth: {Authorizer: NONE}}}
        C: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: POST, Path: /c, Auth: {Authorizer: Staff}}}
        D: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: POST, Path: /d, Auth: {Authorizer: Staff, AuthorizationScopes: [admin]}}}
`, Options{})
	want := API{
		LogicalID: "Api",
		Authorizers: map[string]Authorizer{
			"Jwt":   {Issuer: "https://issuer", Audience: []string{"a", "b"}},
			"Staff": {Issuer: "https://staff", Audience: []string{"c"}},
		},
		CORS: &CORS{AllowOrigins: []string{"https://shop.example"}, AllowMethods: []string{"GET"}, MaxAge: time.Minute},
		Routes: []Route{
			{Function: "F", Method: "GET", Path: "/a", Authorizer: "Jwt", Throttle: Throttle{PerSecond: 50.5, Burst: 100}},
			{Function: "F", Method: "GET", Path: "/b/{id}", Throttle: Throttle{PerSecond: 50.5, Burst: 100}},
			{Function: "F", Method: "POST", Path: "/c", Authorizer: "Staff", Throttle: Throttle{PerSecond: 7}},
			{Function: "F", Method: "POST", Path: "/d", Authorizer: "Staff", Scopes: []string{"admin"}, Throttle: Throttle{PerSecond: 50.5, Burst: 100}},
		},
	}
	if diff := cmp.Diff(want, s.API); diff != "" {
		t.Errorf("api (-want +got):\n%s", diff)
	}
}

func TestQueuesStandAfterTheirDeadLetterQueuesWithSQSAttributes(t *testing.T) {
	s := parse(t, `
Resources:
  A:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: first
      VisibilityTimeout: 35
      MessageRetentionPeriod: 345600
      SqsManagedSseEnabled: true
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Z.Arn, maxReceiveCount: 5}
  Z: {Type: AWS::SQS::Queue, Properties: {RedriveAllowPolicy: {redrivePermission: denyAll}}}
`, Options{Region: "eu-west-1"})
	want := []Queue{
		{LogicalID: "Z", Name: "Z", Attributes: map[string]string{}},
		{LogicalID: "A", Name: "first", Attributes: map[string]string{
			"VisibilityTimeout": "35", "MessageRetentionPeriod": "345600",
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:Z","maxReceiveCount":5}`,
		}},
	}
	if diff := cmp.Diff(want, s.Queues); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
}

func TestATableHasItsKeysAndTheNameThatReferencesSee(t *testing.T) {
	const text = `
Resources:
  T:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: %s
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: n, AttributeType: N}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: n, KeyType: RANGE}]
  F:
    Type: AWS::Serverless::Function
    Properties:
      Environment: {Variables: {NAME: !Ref T}}
`
	for _, c := range []struct{ property, option, want string }{
		{`!Ref AWS::NoValue`, "", "T"},
		{"orders", "", "orders"},
		{`!Sub "${AWS::StackName}-orders"`, "", "orders"},
		{"orders", "given", "given"},
	} {
		t.Run(c.property+" and option "+c.option, func(t *testing.T) {
			s := parse(t, replace(text, c.property), Options{TableName: c.option})
			want := []Table{{
				LogicalID: "T", Name: c.want,
				KeySchema:            []Key{{"pk", "HASH"}, {"n", "RANGE"}},
				AttributeDefinitions: []Attribute{{"pk", "S"}, {"n", "N"}},
			}}
			if diff := cmp.Diff(want, s.Tables); diff != "" {
				t.Errorf("tables (-want +got):\n%s", diff)
			}
			if env := s.Functions[0].Environment; env["NAME"] != c.want {
				t.Errorf("references give %v, want the name %q", env, c.want)
			}
		})
	}
}
