package template

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string, o Options) *Stack {
	t.Helper()
	s, err := Parse([]byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// whole is a template with one of each type; each refusal changes something in it.
const whole = `
Parameters:
  Url: {Type: String, Default: "", AllowedPattern: "(https://.+)?"}
Rules:
  R: {Assertions: [{Assert: !Not [!Equals [!Ref Url, "https://no/"]], AssertDescription: not that one}]}
Globals:
  Function:
    MemorySize: 512
    Environment: {Variables: {AA: global, BB: global, ON: true}}
Resources:
  Q:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: first
      VisibilityTimeout: 10
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Z.Arn, maxReceiveCount: 5}
  Z: {Type: AWS::SQS::Queue, Properties: {RedriveAllowPolicy: {redrivePermission: denyAll}}}
  T:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${AWS::StackName}-orders"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: n, AttributeType: N}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: n, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
  E: {Type: AWS::Events::EventBus}
  H:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: {AllowOrigins: ["https://shop.example"], AllowMethods: [GET], MaxAge: 60}
      DefaultRouteSettings: {ThrottlingRateLimit: 50.5, ThrottlingBurstLimit: 100}
      RouteSettings: {"POST /c": {ThrottlingRateLimit: 7}}
      Auth:
        DefaultAuthorizer: D
        Authorizers:
          D: {IdentitySource: $request.header.Authorization, JwtConfiguration: {issuer: "https://issuer", audience: [a, b]}}
          J: {IdentitySource: $request.header.Authorization, JwtConfiguration: {issuer: "https://staff", audience: [c]}}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Elsewhere.Arn
      MemorySize: 256
      ReservedConcurrentExecutions: 1
      Environment: {Variables: {BB: own, CC: !Ref "AWS::NoValue", TABLE: !Ref T, QUEUE: !Ref Q, BUS: !Ref E, V: x}}
      Events:
        A: {Type: HttpApi, Properties: {ApiId: !Ref H, Method: GET, Path: /a}}
        B: {Type: HttpApi, Properties: {ApiId: !Ref H, Method: GET, Path: "/b/{id}", Auth: {Authorizer: NONE}}}
        C: {Type: HttpApi, Properties: {ApiId: !Ref H, Method: POST, Path: /c, Auth: {Authorizer: J, AuthorizationScopes: [admin]}}}
        Q: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}
        R:
          Type: SQS
          Properties:
            Queue: !GetAtt Z.Arn
            BatchSize: 25
            MaximumBatchingWindowInSeconds: 1
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: 20}
        S: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day)}}
        T: {Type: DynamoDB, Properties: {Stream: !GetAtt T.StreamArn, StartingPosition: TRIM_HORIZON, FunctionResponseTypes: [ReportBatchItemFailures]}}
        U:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt T.StreamArn
            StartingPosition: TRIM_HORIZON
            FunctionResponseTypes: [ReportBatchItemFailures]
            BatchSize: 25
            MaximumBatchingWindowInSeconds: 2
            ParallelizationFactor: 2
            FilterCriteria: {Filters: [{Pattern: a}, {Pattern: b}]}
        W:
          Type: ScheduleV2
          Properties:
            ScheduleExpression: cron(0 9 ? * MON *)
            State: DISABLED
            Input: '{"a":1}'
            RetryPolicy: {MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {AlarmActions: [!ImportValue x]}}
  A: {Type: AWS::ApiGatewayV2::Api, Properties: {ProtocolType: HTTP}}
  P: {Type: AWS::ApiGatewayV2::Stage, Properties: {ApiId: !Ref A, StageName: $default}}
  J: {Type: AWS::ApiGatewayV2::Authorizer, Properties: {ApiId: !Ref A, AuthorizerType: JWT, IdentitySource: [$request.header.Authorization], JwtConfiguration: {Issuer: https://i.example, Audience: [a]}}}
  I: {Type: AWS::ApiGatewayV2::Integration, Properties: {ApiId: !Ref A, IntegrationType: AWS_PROXY, IntegrationUri: !Ref F.Alias, PayloadFormatVersion: "2.0"}}
  O: {Type: AWS::ApiGatewayV2::Route, Properties: {ApiId: !Ref A, RouteKey: GET /x, Target: !Sub "integrations/${I}", AuthorizationType: JWT, AuthorizerId: !Ref J}}
`

func TestATemplateIsReadWithTheDefaultsOfSAMAndTheServices(t *testing.T) {
	byDefault := Throttle{PerSecond: 50.5, Burst: 100}
	want := &Stack{
		Parameters: map[string]string{"Url": ""},
		Functions: []Function{{
			LogicalID: "F", Timeout: 3 * time.Second, MemoryMB: 256, ReservedConcurrency: 1,
			Environment: map[string]string{"AA": "global", "BB": "own", "ON": "true", "TABLE": "orders", "QUEUE": "first", "BUS": "E", "V": "x"},
			Queues:      []QueueSource{{Queue: "first", BatchSize: 10}, {Queue: "Z", BatchSize: 25, Window: time.Second, MaximumConcurrency: 20}},
			Streams: []StreamSource{
				{Table: "orders", BatchSize: 100},
				{Table: "orders", BatchSize: 25, Filters: []string{"a", "b"}},
			},
			Schedules: []Schedule{
				{Name: "FS", Expression: "rate(1 day)", Enabled: true, RetryAttempts: 185, MaxEventAge: 24 * time.Hour},
				{Name: "FW", Expression: "cron(0 9 ? * MON *)", Input: `{"a":1}`, MaxEventAge: time.Minute},
			},
		}},
		API: API{
			LogicalID: "H",
			Authorizers: map[string]Authorizer{
				"D": {Issuer: "https://issuer", Audience: []string{"a", "b"}}, "J": {Issuer: "https://staff", Audience: []string{"c"}},
			},
			CORS: &CORS{AllowOrigins: []string{"https://shop.example"}, AllowMethods: []string{"GET"}, MaxAge: time.Minute},
			Routes: []Route{
				{Function: "F", Method: "GET", Path: "/a", Authorizer: "D", Throttle: byDefault},
				{Function: "F", Method: "GET", Path: "/b/{id}", Throttle: byDefault},
				{Function: "F", Method: "POST", Path: "/c", Authorizer: "J", Scopes: []string{"admin"}, Throttle: Throttle{PerSecond: 7}},
			},
		},
		Operators: API{
			LogicalID: "A", Authorizers: map[string]Authorizer{"J": {Issuer: "https://i.example", Audience: []string{"a"}}},
			Routes: []Route{{Function: "F", Method: "GET", Path: "/x", Authorizer: "J"}},
		},
		Tables: []Table{{"orders", []Key{{"pk", "HASH"}, {"n", "RANGE"}}, []Attribute{{"pk", "S"}, {"n", "N"}}, "NEW_IMAGE"}},
		Queues: []Queue{
			{Name: "Z", Attributes: map[string]string{}},
			{Name: "first", Attributes: map[string]string{
				"VisibilityTimeout": "10", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:Z","maxReceiveCount":5}`,
			}},
		},
		Buses: []string{"E"},
	}
	if diff := cmp.Diff(want, parse(t, whole, Options{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := parse(t, whole, Options{TableName: "given"}); s.Tables[0].Name != "given" || s.Functions[0].Environment["TABLE"] != "given" {
		t.Errorf("tables %+v and references to them %v, want the given name", s.Tables, s.Functions[0].Environment)
	}
}

func TestWhatDoesNotRunLocallyIsRefused(t *testing.T) {
	for _, c := range []struct{ was, is, refusal string }{
		{"VisibilityTimeout: 10", "FifoQueue: true", `unknown field "FifoQueue"`},
		{"BillingMode: PAY_PER_REQUEST", "GlobalSecondaryIndexes: []", `unknown field "GlobalSecondaryIndexes"`},
		{"StreamSpecification: {StreamViewType: NEW_IMAGE}", "", "no table of the template has the stream"},
		{"AWS::Events::EventBus", "AWS::Pipes::Pipe", "E: line"},
		{"AWS::Events::EventBus", "AWS::Serverless::HttpApi", "serves one AWS::Serverless::HttpApi"},
		{"IdentitySource: $request.header.Authorization", "IdentitySource: $request.querystring.t", "IdentitySource"},
		{"CorsConfiguration: {", "CorsConfiguration: {AllowCredentials: true, ", `unknown field "AllowCredentials"`},
		{"V: x", "V: !GetAtt Q.QueueName", "attribute QueueName of Q"},
		{"V: x", "V: !Ref AWS::NotificationARNs", "AWS::NotificationARNs"},
		{"V: x", "V: [x]", "it does not run locally"},
		{"V: x", `V: "{{resolve:secretsmanager:arn}}"`, "no such secret"},
		{"Role:", "VpcConfig: {}\n      Role:", `unknown field "VpcConfig"`},
		{"Type: SQS,", "Type: S3,", "events of type S3"},
		{"Queue: !GetAtt Q.Arn,", "Queue: arn:aws:sqs:x:y:z,", "no queue of the template"},
		{"Queue: !GetAtt Q.Arn,", "Queue: !GetAtt Q.Arn, FilterCriteria: {},", `unknown field "FilterCriteria"`},
		{"Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures]", "Queue: !GetAtt Q.Arn", "FunctionResponseTypes"},
		{"Queue: !GetAtt Q.Arn,", "Queue: !GetAtt Q.Arn, BatchSize: many,", "into int"},
		{"TRIM_HORIZON", "LATEST", "StartingPosition"},
		{"StartingPosition: TRIM_HORIZON,", "StartingPosition: TRIM_HORIZON, MaximumRetryAttempts: 3,", `unknown field "MaximumRetryAttempts"`},
		{"ScheduleExpression: rate(1 day)", "ScheduleExpression: rate(1 day), FlexibleTimeWindow: {Mode: FLEXIBLE}", `unknown field "FlexibleTimeWindow"`},
		{"ScheduleExpression: rate(1 day)", "ScheduleExpression: rate(1 day), ScheduleExpressionTimezone: Asia/Shanghai", "must be UTC"},
		{"Authorizer: J,", "Authorizer: X,", `no authorizer "X"`},
		{"ProtocolType: HTTP", "ProtocolType: WEBSOCKET", "must be HTTP"},
		{"StageName: $default", "StageName: prod", "must be A $default"},
		{"StageName: $default", "StageName: $default, RouteSettings: {}", `unknown field "RouteSettings"`},
		{"{ApiId: !Ref A, StageName", "{ApiId: !Ref H, StageName", "must be A $default"},
		{"AuthorizerType: JWT", "AuthorizerType: REQUEST", "must be A JWT"},
		{"[$request.header.Authorization]", "[$request.querystring.token]", "must be $request.header.Authorization"},
		{`"2.0"`, `"1.0"`, "must be 2.0"},
		{"!Ref F.Alias", "!Ref J.Alias", "attribute Alias of J"},
		{"integrations/${I}", "integrations/${J}", "no integration of the API"},
		{"AuthorizationType: JWT", "AuthorizationType: AWS_IAM", "neither public nor"},
		{"AuthorizerId: !Ref J", "AuthorizerId: !Ref I", "neither public nor"},
	} {
		text := strings.Replace(whole, c.was, c.is, 1)
		if _, err := Parse([]byte(text), Options{}); text == whole || err == nil || !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: refused with %v, want %q", c.is, err, c.refusal)
		}
	}
}

func TestWhatMustBeHTTPSMayBeHTTPOnThisMachine(t *testing.T) {
	for _, c := range []struct {
		url, refusal string
		strict       []string
	}{
		{"https://x/", "", nil}, {"http://127.0.0.1:80/check?a=b", "", nil}, {"http://localhost/", "", nil}, {"http://[::1]:1/", "", nil},
		{"http://127.0.0.1/", `"http://127.0.0.1/": it does not match`, []string{"Url"}},
		{"http://x/", "does not match", nil}, {"http://127.0.0.1.example/", "does not match", nil}, {"http://127.0.0.1@x/", "does not match", nil},
		{"ftp://127.0.0.1/", "does not match", nil},
		{"https://no/", "not that one", nil},
	} {
		s, err := Parse([]byte(whole), Options{Parameters: map[string]string{"Url": c.url}, Strict: c.strict})
		if c.refusal == "" && (err != nil || s.Parameters["Url"] != c.url) || c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)) {
			t.Errorf("%s, strict %v: %v, want %q", c.url, c.strict, err, c.refusal)
		}
	}
}
