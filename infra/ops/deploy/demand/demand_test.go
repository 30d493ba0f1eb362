package demand

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const text = `
Parameters:
  Warm: {Type: Number, Default: 0, MinValue: 0, MaxValue: 40000}
  Reserved: {Type: Number, Default: 0}
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Issuer: {Type: String, AllowedPattern: ^https://.+$}
  Secret: {Type: String, Default: "", NoEcho: true, MaxLength: 8}
  Origins: {Type: CommaDelimitedList, Default: ""}
Rules:
  Always:
    Assertions:
      - {Assert: !Not [!Equals [!Ref Stage, ""]], AssertDescription: never seen}
      - {Assert: !Equals [!Ref AWS::Region, eu-west-1], AssertDescription: only in eu-west-1}
  InProduction:
    RuleCondition: !Equals [!Ref Stage, prod]
    Assertions: [{Assert: !Not [!Equals [!Ref Secret, ""]]}]
Conditions:
  HasWarm: !Not [!Equals [!Ref Warm, 0]]
  HasReserved: {"Fn::Not": [{"Fn::Equals": [{Ref: Reserved}, 0]}]}
  Prod: !Equals [!Ref Stage, prod]
  Either: !Or [!Condition HasWarm, !Condition Prod]
  Both: !And [!Condition HasWarm, {Condition: Prod}]
  Loop: !Not [!Condition Loop]
Globals:
  Function: {Timeout: 6, MemorySize: 512}
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      WarmThroughput: !If [HasWarm, {WriteUnitsPerSecond: !Ref Warm, ReadUnitsPerSecond: 12000}, !Ref AWS::NoValue]
      OnDemandThroughput: !If [Both, {MaxWriteRequestUnits: 30000}, !Ref AWS::NoValue]
  Queue: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 35}}
  Plain: {Type: AWS::SQS::Queue}
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefaultRouteSettings: {ThrottlingRateLimit: 100.5, ThrottlingBurstLimit: 50}
      RouteSettings: {"POST /x": {ThrottlingRateLimit: 2000}}
      Auth:
        Authorizers:
          Jwt: {JwtConfiguration: {issuer: !If [Prod, !Ref Issuer, !Sub "https://cognito/${Pool}"], audience: [a]}}
          Other: {JwtConfiguration: {issuer: !Sub "${Issuer}/tenant", audience: [a]}}
  Buy:
    Type: AWS::Serverless::Function
    Properties:
      ReservedConcurrentExecutions: !If [HasReserved, !Ref Reserved, !Ref AWS::NoValue]
      ProvisionedConcurrencyConfig: {ProvisionedConcurrentExecutions: 3}
  Finish:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 5
      Events:
        Orders: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn, MaximumBatchingWindowInSeconds: 1, ScalingConfig: {MaximumConcurrency: 20}}}
        More: {Type: SQS, Properties: {Queue: {"Fn::GetAtt": [Plain, Arn]}}}
        Daily: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), Input: "{}"}}
        Off: {Type: ScheduleV2, Properties: {ScheduleExpression: "at(2026-01-01T00:00:00)", ScheduleExpressionTimezone: Asia/Shanghai, State: DISABLED}}
  Spare: {Type: AWS::Serverless::Function, Condition: Prod}
  Never: {Type: AWS::Serverless::Function, Condition: Loop2}
  Target:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Condition: Either
    Properties:
      ResourceId: !Join [":", [function, !Select [6, !Split [":", !Ref Buy.Alias]], live]]
      MinCapacity: 0
      ScheduledActions:
        - {ScheduledActionName: warm, Schedule: "at(2026-11-11T11:50:00)", Timezone: Asia/Shanghai, ScalableTargetAction: {MinCapacity: !Ref Reserved}}
        - {ScheduledActionName: cool, Schedule: "at(2026-11-11T13:00:00)", ScalableTargetAction: {MinCapacity: 0}}
`

func read(t *testing.T, parameters map[string]string) Demand {
	t.Helper()
	d, err := Parse([]byte(text), "eu-west-1", parameters)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// withoutSettings excludes the digests from a comparison.
var withoutSettings = cmp.Options{cmpopts.IgnoreFields(Function{}, "Settings"), cmpopts.IgnoreFields(Table{}, "Settings")}

func TestConditionsAndParametersDetermineTheDemand(t *testing.T) {
	dev := read(t, map[string]string{"Issuer": "https://i.test"})
	prod := read(t, map[string]string{"Issuer": "https://i.test", "Stage": "prod", "Warm": "20000", "Reserved": "300"})
	if diff := cmp.Diff([]Table{{ID: "Table"}}, dev.Tables, withoutSettings); diff != "" {
		t.Errorf("dev (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Table{{ID: "Table", WarmReads: 12000, WarmWrites: 20000, MaxWrite: 30000}}, prod.Tables, withoutSettings); diff != "" {
		t.Errorf("prod (-want +got):\n%s", diff)
	}
	if len(dev.Functions) != 2 || len(prod.Functions) != 3 {
		t.Fatalf("%d functions in dev and %d in prod, want 2 and 3", len(dev.Functions), len(prod.Functions))
	}
	if diff := cmp.Diff(Function{ID: "Buy", Timeout: 6, MemoryMB: 512, Provisioned: 3}, dev.Functions[0], withoutSettings); diff != "" {
		t.Errorf("dev (-want +got):\n%s", diff)
	}
	want := Function{ID: "Buy", Timeout: 6, MemoryMB: 512, Reserved: 300, Provisioned: 300, Warming: []Warming{
		{"warm", "at(2026-11-11T11:50:00)", "Asia/Shanghai", 300}, {"cool", "at(2026-11-11T13:00:00)", "UTC", 0},
	}}
	if diff := cmp.Diff(want, prod.Functions[0], withoutSettings); diff != "" {
		t.Errorf("with scheduled capacity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"https://i.test", "https://i.test/tenant"}, prod.Issuers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"https://i.test/tenant"}, dev.Issuers); diff != "" {
		t.Errorf("an issuer that the deployment creates is unknown before it (-want +got):\n%s", diff)
	}
	if dev.Rate != 2000 || dev.Burst != 50 || dev.TotalRate != 2100.5 {
		t.Errorf("throttles %v, %d, want the highest of all routes; %v together, want the sum", dev.Rate, dev.Burst, dev.TotalRate)
	}
	if dev.Tables[0].Settings == prod.Tables[0].Settings || dev.Tables[0].Settings != read(t, map[string]string{"Reserved": "9"}).Tables[0].Settings {
		t.Error("a table's digest must change with the table's parameters, and with no others")
	}
}

func TestRulesThatDoNotHoldAreNamed(t *testing.T) {
	if broken := read(t, nil).Broken; len(broken) != 0 {
		t.Errorf("broken: %q", broken)
	}
	d, err := Parse([]byte(text), "us-east-1", map[string]string{"Stage": "prod", "Secret": ""})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"only in eu-west-1", "InProduction"}, d.Broken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASecretThatIsNotGivenIsKeptAndNotChecked(t *testing.T) {
	d := read(t, map[string]string{"Stage": "prod", "Issuer": "https://i.test"})
	for _, p := range d.Parameters {
		if p.Kept != (p.Name == "Secret") {
			t.Errorf("%s: kept %t", p.Name, p.Kept)
		}
	}
	if len(d.Broken) != 0 {
		t.Errorf("an unknown secret breaks %q", d.Broken)
	}
}

func TestSourcesAndSchedulesOfAFunction(t *testing.T) {
	f := read(t, map[string]string{"Issuer": "https://i.test"}).Functions[1]
	want := Function{
		ID: "Finish", Timeout: 5, MemoryMB: 512,
		Sources: []Source{{Queue: "Queue", Visibility: 35, Window: 1, MaxConcurrency: 20}, {Queue: "Plain", Visibility: 30}},
		Schedules: []Schedule{
			{Name: "FinishDaily", Expression: "rate(1 day)", Timezone: "UTC", Input: "{}", Enabled: true},
			{Name: "FinishOff", Expression: "at(2026-01-01T00:00:00)", Timezone: "Asia/Shanghai"},
		},
	}
	if diff := cmp.Diff(want, f, withoutSettings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParametersAreCheckedAsByCloudFormation(t *testing.T) {
	d := read(t, map[string]string{"Warm": "50000", "Stage": "test", "Secret": "123456789", "Reserved": "many", "Isuer": "x"})
	problems := map[string]string{}
	for _, p := range d.Parameters {
		if p.Problem != "" || p.Missing {
			problems[p.Name] = p.Problem
		}
		if p.Name == "Secret" && (p.Value != "" || p.Kept) {
			t.Errorf("a NoEcho value is shown, or kept although it is given: %+v", p)
		}
	}
	want := map[string]string{
		"Warm": "it is above 40000", "Stage": "it is not one of the allowed values", "Secret": "it is too long",
		"Reserved": "it is not a whole number", "Isuer": "the template has no such parameter", "Issuer": "",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// CloudFormation takes each of these for a number, and fails or does something else later: the
// condition HasReserved holds for "00".
func TestANumberIsWholeAndWrittenInDigits(t *testing.T) {
	for value, want := range map[string]string{
		"0": "", "40000": "", "-1": "it is below 0", "40001": "it is above 40000", "9000000000000000000": "it is above 40000",
		"0.5": "it is not a whole number", "1e3": "it is not a whole number", "00": "it is not a whole number", "0200": "it is not a whole number",
		"+1": "it is not a whole number", "-0": "it is not a whole number", " 1": "it is not a whole number", "": "it is not a whole number",
		"NaN": "it is not a whole number", "99999999999999999999": "it is not a whole number",
	} {
		for _, p := range read(t, map[string]string{"Warm": value}).Parameters {
			if p.Name == "Warm" && p.Problem != want {
				t.Errorf("%q: %q, want %q", value, p.Problem, want)
			}
		}
	}
}

func TestWhatTheWebACLRefusesIsRefusedBeforeTheDeployment(t *testing.T) {
	for value, fine := range map[string]bool{"0/400": false, "200/400": true, "999999/400": true, "1000000/400": false, "150.5/400": false, "200": false} {
		refused(t, "PaymentThrottle", value, fine)
	}
	for name, most := range map[string]string{"FrontRequestLimit": "2000000000", "FrontPurchaseLimit": "2000000000"} {
		for value, fine := range map[string]bool{"0": false, "200": true, most: true, most[:len(most)-1] + "1": false, "150.5": false} {
			refused(t, name, value, fine)
		}
	}
}

// refused checks whether a value of a parameter of the project's template is one that CloudFormation takes.
func refused(t *testing.T, name, value string, fine bool) {
	t.Helper()
	d, err := Read("../../../../template.yaml", "us-east-1", map[string]string{name: value})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Parameters {
		if p.Name == name && (p.Problem == "") != fine {
			t.Errorf("%s=%s: problem %q, fine is %t", name, value, p.Problem, fine)
		}
	}
}

func TestTheProjectsOpeningDayIsRead(t *testing.T) {
	d, err := Read("../../../../template.yaml", "us-east-1", map[string]string{
		"ReservedConcurrency":            "Purchase:600,Query:0,Page:0,Pay:0,Operate:10,Finalize:20,Reconcile:1,Release:1,Draw:1,Publish:0",
		"PurchaseProvisionedConcurrency": "400", "WarmFrom": "at(2026-11-11T11:50:00)",
		"WarmUntil": "at(2026-11-11T13:00:00)", "WarmWriteUnitsPerSecond": "30000", "MaxWriteRequestUnits": "35000",
		"PurchaseThrottle": "9000/2500", "QueryThrottle": "8000/5000", "SeedScheduleExpression": "rate(1 day)",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Functions {
		if f.ID == "PurchaseFunction" && (f.Reserved != 600 || f.Provisioned != 400 || len(f.Warming) != 2) {
			t.Errorf("%+v", f)
		}
	}
	if diff := cmp.Diff([]Table{{ID: "LedgerTable", WarmReads: 12_000, WarmWrites: 30_000, MaxWrite: 35_000}}, d.Tables, withoutSettings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Rate != 9000 || d.TotalRate != 9000+8000+1200+200 || len(d.Issuers) != 0 || len(d.Broken) != 1 {
		t.Errorf("rates %v and %v, issuers %q, broken rules %q; want purchases, the page, other routes and webhooks in the sum, and the rule that requires an issuer",
			d.Rate, d.TotalRate, d.Issuers, d.Broken)
	}
}

// The page names Cognito's sign-in domain, and the alias would serve the old one.
func TestAnotherSignInDomainIsAnotherVersionOfThePage(t *testing.T) {
	settings := func(prefix string) string {
		d, err := Read("../../../../template.yaml", "us-east-1", map[string]string{
			"CreateUserPool": "true", "PageOrigin": "https://shop.example", "SignInDomainPrefix": prefix,
		})
		if err != nil {
			t.Fatal(err)
		}
		return d.Functions[slices.IndexFunc(d.Functions, func(f Function) bool { return f.ID == "PageFunction" })].Settings
	}
	if settings("old") == settings("new") {
		t.Error("PageFunction gets no new version when SignInDomainPrefix changes")
	}
}

func TestAnInvalidTemplateIsRefused(t *testing.T) {
	for _, text := range []string{"", "a", "- a", ":\n:", "\x00"} {
		if d, err := Parse([]byte(text), "", nil); err == nil {
			t.Errorf("%q: %+v, want an error", text, d)
		}
	}
}
