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

func TestATableHasItsKeysItsStreamAndTheNameThatReferencesSee(t *testing.T) {
	const text = `
Resources:
  T:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: NAME
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: n, AttributeType: N}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: n, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Bus: {Type: AWS::Events::EventBus, Properties: {Name: !Sub "${AWS::StackName}-events", Description: orders}}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Environment: {Variables: {TABLE: !Ref T, BUS: !Ref Bus}}
      Events:
        A: {Type: DynamoDB, Properties: {Stream: !GetAtt T.StreamArn, StartingPosition: TRIM_HORIZON, FunctionResponseTypes: [ReportBatchItemFailures]}}
        B:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt T.StreamArn
            StartingPosition: TRIM_HORIZON
            FunctionResponseTypes: [ReportBatchItemFailures]
            BatchSize: 25
            MaximumBatchingWindowInSeconds: 2
            ParallelizationFactor: 2
            FilterCriteria: {Filters: [{Pattern: a}, {Pattern: b}]}
`
	for _, c := range []struct{ property, option, want string }{
		{`!Ref AWS::NoValue`, "", "T"},
		{"orders", "", "orders"},
		{`!Sub "${AWS::StackName}-orders"`, "", "orders"},
		{"orders", "given", "given"},
	} {
		s := parse(t, strings.Replace(text, "NAME", c.property, 1), Options{TableName: c.option})
		want := &Stack{
			Parameters: map[string]string{},
			Tables: []Table{{
				LogicalID: "T", Name: c.want, StreamView: "NEW_AND_OLD_IMAGES",
				KeySchema:            []Key{{"pk", "HASH"}, {"n", "RANGE"}},
				AttributeDefinitions: []Attribute{{"pk", "S"}, {"n", "N"}},
			}},
			Buses: []Bus{{"Bus", "events"}},
			Functions: []Function{{
				LogicalID: "F", Timeout: 3 * time.Second, MemoryMB: 128, Environment: map[string]string{"TABLE": c.want, "BUS": "events"},
				Streams: []StreamSource{
					{Table: "T", BatchSize: 100, Parallel: 1},
					{Table: "T", BatchSize: 25, Window: 2 * time.Second, Parallel: 2, Filters: []string{"a", "b"}},
				},
			}},
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("%s and option %q (-want +got):\n%s", c.property, c.option, diff)
		}
	}
}

// whole is a template with one of each type; each refusal changes something in it.
const whole = `
Parameters:
  Url: {Type: String, Default: "", AllowedPattern: "(https://.+)?"}
Rules:
  R: {Assertions: [{Assert: !Not [!Equals [!Ref Url, "https://no/"]], AssertDescription: not that one}]}
Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 10}}
  T: {Type: AWS::DynamoDB::Table, Properties: {StreamSpecification: {StreamViewType: NEW_IMAGE}}}
  E: {Type: AWS::Events::EventBus}
  H: {Type: AWS::Serverless::HttpApi, Properties: {Auth: {Authorizers: {J: {IdentitySource: $request.header.Authorization}}}}}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Elsewhere.Arn
      Environment: {Variables: {V: x}}
      Events:
        Q: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}
        T: {Type: DynamoDB, Properties: {Stream: !GetAtt T.StreamArn, StartingPosition: TRIM_HORIZON, FunctionResponseTypes: [ReportBatchItemFailures]}}
        S: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day)}}
        R: {Type: HttpApi, Properties: {ApiId: !Ref H, Method: GET, Path: /, Auth: {Authorizer: J}}}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {AlarmActions: [!ImportValue x]}}
  A: {Type: AWS::ApiGatewayV2::Api, Properties: {ProtocolType: HTTP}}
  P: {Type: AWS::ApiGatewayV2::Stage, Properties: {ApiId: !Ref A, StageName: $default}}
  J: {Type: AWS::ApiGatewayV2::Authorizer, Properties: {ApiId: !Ref A, AuthorizerType: JWT, IdentitySource: [$request.header.Authorization], JwtConfiguration: {Issuer: https://i.example, Audience: [a]}}}
  I: {Type: AWS::ApiGatewayV2::Integration, Properties: {ApiId: !Ref A, IntegrationType: AWS_PROXY, IntegrationUri: !Ref F.Alias, PayloadFormatVersion: "2.0"}}
  O: {Type: AWS::ApiGatewayV2::Route, Properties: {ApiId: !Ref A, RouteKey: GET /x, Target: !Sub "integrations/${I}", AuthorizationType: JWT, AuthorizerId: !Ref J}}
`

func TestWhatDoesNotRunLocallyIsRefused(t *testing.T) {
	if s := parse(t, whole, Options{}); len(s.Operators.Routes) != 1 || s.Operators.Routes[0].Authorizer != "J" || s.Operators.Routes[0].Function != "F" {
		t.Errorf("the operators' API is read as %+v", s.Operators)
	}
	for _, c := range []struct{ was, is, refusal string }{
		{"VisibilityTimeout: 10", "FifoQueue: true", `unknown field "FifoQueue"`},
		{"StreamSpecification: {StreamViewType: NEW_IMAGE}", "GlobalSecondaryIndexes: []", `unknown field "GlobalSecondaryIndexes"`},
		{"StreamSpecification: {StreamViewType: NEW_IMAGE}", "", "no table of the template has the stream"},
		{"AWS::Events::EventBus", "AWS::Pipes::Pipe", "E: line"},
		{"AWS::Events::EventBus", "AWS::Serverless::HttpApi", "serves one AWS::Serverless::HttpApi"},
		{"$request.header.Authorization}", "$request.querystring.t}", "IdentitySource"},
		{"Properties: {Auth:", "Properties: {CorsConfiguration: {AllowCredentials: true}, Auth:", `unknown field "AllowCredentials"`},
		{"V: x", "V: !GetAtt Q.QueueName", "attribute QueueName of Q"},
		{"V: x", "V: !Ref AWS::StackId", "AWS::StackId"},
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
		{"{Authorizer: J}", "{Authorizer: X}", `no authorizer "X"`},
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
