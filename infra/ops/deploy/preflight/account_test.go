package preflight

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/deploy/demand"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// cloud returns an account whose Lambda, DynamoDB and AWS CLI the test provides.
func cloud(t *testing.T, handler http.Handler, cli string) Cloud {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	program := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+cli), 0o755); err != nil {
		t.Fatal(err)
	}
	keys := credentials.NewStaticCredentialsProvider("test", "test", "")
	return Cloud{
		Lambda: lambda.New(lambda.Options{
			BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: keys, Retryer: aws.NopRetryer{},
		}),
		DynamoDB: dynamodb.New(dynamodb.Options{
			BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: keys, Retryer: aws.NopRetryer{},
		}),
		CLI: Program{Words: []string{program}},
	}
}

// services answers the calls of Lambda and DynamoDB.
func services(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2016-08-19/account-settings", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":470}}`)
	})
	mux.HandleFunc("GET /2019-09-30/functions/{name}/concurrency", func(w http.ResponseWriter, r *http.Request) {
		if reserved := map[string]int{"shop-Buy-1": 500, "shop-Audit-1": 1}[r.PathValue("name")]; reserved > 0 {
			fmt.Fprintf(w, `{"ReservedConcurrentExecutions":%d}`, reserved)
			return
		}
		io.WriteString(w, `{}`)
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		body, _ := io.ReadAll(r.Body)
		switch target := r.Header.Get("X-Amz-Target"); target {
		case "DynamoDB_20120810.DescribeLimits":
			io.WriteString(w, `{"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":60000,"TableMaxWriteCapacityUnits":40000}`)
		case "DynamoDB_20120810.DescribeTable":
			if !strings.Contains(string(body), `"shop-Ledger-1"`) {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"__type":"ResourceNotFoundException"}`)
				return
			}
			io.WriteString(w, `{"Table":{"WarmThroughput":{"ReadUnitsPerSecond":20000,"WriteUnitsPerSecond":40000,"Status":"ACTIVE"}}}`)
		default:
			t.Errorf("DynamoDB got %q", target)
		}
	})
	return mux
}

const cli = `case "$*" in
"sts get-caller-identity") echo '{"Account":"123456789012","Arn":"arn:aws:iam::123456789012:user/me"}';;
"apigateway get-account") echo '{"throttleSettings":{"burstLimit":5000,"rateLimit":10000.0}}';;
"cloudformation list-stacks") echo '{"StackSummaries":[{"StackName":"gone","StackStatus":"DELETE_COMPLETE"},{"StackName":"shop","StackStatus":"UPDATE_COMPLETE"}]}';;
"cloudformation describe-stacks --stack-name shop") echo '{"Stacks":[{"Parameters":[{"ParameterKey":"LogLevel","ParameterValue":"INFO"}]}]}';;
"cloudformation list-stack-resources --stack-name shop") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::DynamoDB::Table","LogicalResourceId":"Ledger","PhysicalResourceId":"shop-Ledger-1","ResourceStatus":"UPDATE_COMPLETE"},
 {"ResourceType":"AWS::DynamoDB::Table","LogicalResourceId":"Ledger","PhysicalResourceId":"shop-Ledger-0","ResourceStatus":"DELETE_SKIPPED"},
 {"ResourceType":"AWS::Lambda::Function","PhysicalResourceId":"shop-Buy-1"},{"ResourceType":"AWS::Lambda::Function","PhysicalResourceId":"shop-Audit-1"},
 {"ResourceType":"AWS::Lambda::Function","PhysicalResourceId":"shop-Query-1"},{"ResourceType":"AWS::SQS::Queue","PhysicalResourceId":"q"}]}';;
*) echo "unexpected: $*" >&2; exit 1;;
esac
`

func TestLimitsComeFromTheServices(t *testing.T) {
	c := cloud(t, services(t), cli)
	got, err := c.Limits(t.Context(), "shop")
	want := Limits{
		Account: "123456789012 as arn:aws:iam::123456789012:user/me", Concurrency: 1000, Unreserved: 470, Own: 501,
		TableReads: 60_000, TableWrites: 40_000, Rate: 10_000, Burst: 5000,
		Status: "UPDATE_COMPLETE", Tables: map[string]Warmth{"Ledger": {Reads: 20_000, Writes: 40_000}}, Parameters: map[string]string{"LogLevel": "INFO"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, stack := range []string{"gone", "new"} {
		if l, err := c.Limits(t.Context(), stack); err != nil || l.Own != 0 {
			t.Errorf("stack %s has reserved %d, %v; want nothing", stack, l.Own, err)
		}
	}
}

func TestAServiceThatRefusesIsAnError(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"__type":"AccessDeniedException","Message":"no"}`)
	})
	for name, c := range map[string]Cloud{
		"Lambda and DynamoDB": cloud(t, refuse, cli),
		"the AWS CLI":         cloud(t, services(t), "echo no credentials >&2; exit 255\n"),
		"not JSON":            cloud(t, services(t), "echo hello\n"),
		"no AWS CLI":          {CLI: Program{Words: []string{filepath.Join(t.TempDir(), "aws")}}},
	} {
		if l, err := c.Limits(t.Context(), "shop"); err == nil {
			t.Errorf("%s: %+v, want an error", name, l)
		}
	}
}

func TestTheAWSCLIIsCalledWithTheRegionAndWithoutAPager(t *testing.T) {
	p := AWS("eu-west-1")
	if diff := cmp.Diff([]string{"aws", "--region", "eu-west-1"}, p.Words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(strings.Join(p.Env, " "), "AWS_PAGER= ") {
		t.Errorf("environment %q", p.Env)
	}
}

// openID starts an issuer over TLS; spoil may change its documents.
func openID(t *testing.T, spoil func(document, keys map[string]any)) (issuer string, d Discovery) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	document, keys := map[string]any{}, map[string]any{"keys": []any{map[string]string{"kty": "EC"}, map[string]string{"kty": "RSA"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(document); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(keys); err != nil {
			t.Error(err)
		}
	})
	server.Config.Handler = mux
	server.StartTLS()
	t.Cleanup(server.Close)
	document["issuer"], document["jwks_uri"] = server.URL, server.URL+"/jwks.json"
	if spoil != nil {
		spoil(document, keys)
	}
	return server.URL, Discovery{Client: server.Client()}
}

func TestAnIssuerIsAcceptedIfAPIGatewayAcceptsIt(t *testing.T) {
	issuer, d := openID(t, nil)
	if err := d.Check(t.Context(), issuer); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(document, keys map[string]any){
		"another issuer's document": func(d, _ map[string]any) { d["issuer"] = "https://other.test" },
		"an extra slash":            func(d, _ map[string]any) { d["issuer"] = d["issuer"].(string) + "/" },
		"keys over plain http":      func(d, _ map[string]any) { d["jwks_uri"] = "http://keys.test" },
		"missing keys":              func(d, _ map[string]any) { d["jwks_uri"] = d["issuer"].(string) + "/none" },
		"no RSA key":                func(_, k map[string]any) { k["keys"] = []any{map[string]string{"kty": "EC"}} },
		"no key":                    func(_, k map[string]any) { delete(k, "keys") },
	} {
		issuer, d := openID(t, spoil)
		if err := d.Check(t.Context(), issuer); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAnIssuerWithoutHTTPSIsRefused(t *testing.T) {
	issuer, d := openID(t, nil)
	for _, address := range []string{"", "https://", strings.Replace(issuer, "https", "http", 1), "issuer.test", issuer + "/tenant"} {
		if err := d.Check(t.Context(), address); err == nil {
			t.Errorf("%q: accepted", address)
		}
	}
	// A client that does not trust the test server's certificate.
	strict := Discovery{Client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{}}}}
	if err := strict.Check(t.Context(), issuer); err == nil {
		t.Error("an unknown certificate is accepted")
	}
}

const (
	restored       = "shop-restored"
	restoredStream = "arn:aws:dynamodb:us-east-1:123456789012:table/shop-restored/stream/2026-11-11T12:00:00.000"
)

// tables are the streams that checked tables must have.
type tables map[string]string

func (t tables) Check(_ context.Context, table, stream string) error {
	if want, ok := t[table]; !ok || want != stream {
		return fmt.Errorf("table %s with stream %q", table, stream)
	}
	return nil
}

// Balanced fails for a table without a stream that must be there: "unbalanced" is its stream.
func (t tables) Balanced(_ context.Context, table string) error {
	if t[table] == "unbalanced" {
		return errors.New("sale moutai: shard 0: stock is 9, should be 8 (P2)")
	}
	return nil
}

// sized is a table in memory whose size is known.
type sized struct{ *dynamotest.DB }

func (sized) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableSizeBytes: aws.Int64(1)}}, nil
}

func TestEverySaleOfATableIsRecounted(t *testing.T) {
	db := dynamotest.New(dynamotest.Table{Name: restored, PK: "pk", SK: "sk"})
	book := ledger.New(db, restored, ledger.Options{})
	for _, id := range []string{"first", "second"} {
		if _, err := book.Create(t.Context(), sale.Creation{SaleID: id, Name: "n", Stock: 2, Shards: 1, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Purchase(t.Context(), ledger.Request{SaleID: id, User: "alice"}); err != nil {
			t.Fatal(err)
		}
	}
	tables := DynamoDB{Client: sized{db}}
	if err := tables.Balanced(t.Context(), restored); err != nil {
		t.Error(err)
	}
	if err := db.Tamper(t.Context(), restored, "STOCK#second#0", "STOCK", "stock", 1); err != nil {
		t.Fatal(err)
	}
	if err := tables.Balanced(t.Context(), restored); err == nil || !strings.Contains(err.Error(), "sale second: shard 0: stock is 2, should be 1") {
		t.Errorf("got %v", err)
	}
}

func TestATableWhoseReceiptsDoNotBalanceIsNotTakenOver(t *testing.T) {
	for _, tt := range []struct {
		status, was string
		want        Verdict
	}{{"", "", Failed}, {"UPDATE_COMPLETE", "", Failed}, {"UPDATE_COMPLETE", restored, OK}} {
		d := sound()
		d.Tables = tables{restored: "unbalanced"}
		limits := &d.Account.(*account).limits
		limits.Status, limits.Parameters = tt.status, map[string]string{"ExistingTable": tt.was}
		give(&d, "ExistingTable", restored, "DeploymentType", "AllAtOnce")
		got := OK
		for _, f := range Run(t.Context(), d) {
			if f.Check == "existing table" && strings.Contains(f.Says, "sale moutai") {
				got = f.Verdict
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

func TestAnExistingTableIsCheckedBeforeItIsUsed(t *testing.T) {
	own := map[string]string{"ExistingTable": ""}
	using := map[string]string{"ExistingTable": restored}
	for _, tt := range []struct {
		name       string
		deployed   map[string]string
		parameters map[string]string
		want       Verdict // empty: no finding
		says       string
	}{
		{"none", own, map[string]string{}, "", ""},
		{"a table that is taken over", own, map[string]string{"ExistingTable": restored, "DeploymentType": "AllAtOnce"}, Warning, "the functions use shop-restored"},
		{"the same table again", using, map[string]string{"ExistingTable": restored, "DeploymentType": "Canary10Percent5Minutes"}, OK, restored},
		{"with its stream", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": restoredStream, "PublishEvents": "true"}, OK, restored},
		{"a stream that nobody reads", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": restoredStream}, OK, restored},
		{"another table's stream", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": strings.Replace(restoredStream, "restored", "Ledger-1", 1), "PublishEvents": "true"}, Failed, "is the stream of another table"},
		{"a table whose name only begins like it", using, map[string]string{"ExistingTable": "shop", "ExistingTableStreamArn": restoredStream, "PublishEvents": "true"}, Failed, "is the stream of another table"},
		{"another stream of the table", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": restoredStream + "1", "PublishEvents": "true"}, Failed, "with stream"},
		{"a stream without a table", own, map[string]string{"ExistingTableStreamArn": restoredStream}, Warning, "unused"},
		{"a table that is not there", using, map[string]string{"ExistingTable": "none"}, Failed, "table none"},
		{"a canary onto another table", own, map[string]string{"ExistingTable": restored, "DeploymentType": "Canary10Percent5Minutes"}, Failed, "two tables at a time"},
		{"back to a new, empty table", using, map[string]string{"ExistingTable": "", "DeploymentType": "AllAtOnce"}, Failed, "set ExistingTable=shop-restored"},
		{"capacity that does not reach it", using, map[string]string{"ExistingTable": restored, "MaxWriteRequestUnits": "4000"}, Warning, "has no effect on shop-restored"},
	} {
		d := sound()
		stream := ""
		if tt.parameters["PublishEvents"] == "true" {
			stream = restoredStream
		}
		d.Tables = tables{restored: stream}
		d.Account.(*account).limits.Parameters = tt.deployed
		for name, value := range tt.parameters {
			give(&d, name, value)
		}
		var worst Verdict
		var says []string
		for _, f := range Run(t.Context(), d) {
			if f.Check != "existing table" {
				continue
			}
			if says = append(says, f.Says); f.Verdict == Failed || worst != Failed && (worst == "" || f.Verdict == Warning) {
				worst = f.Verdict
			}
		}
		if worst != tt.want || !strings.Contains(strings.Join(says, "\n"), tt.says) {
			t.Errorf("%s: %q, %q; want %q, %q", tt.name, worst, says, tt.want, tt.says)
		}
	}
}

func TestARestoredTableThatIsNotReadyIsRefused(t *testing.T) {
	const ready = `"TableStatus":"ACTIVE","DeletionProtectionEnabled":true,"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
		"LatestStreamArn":"` + restoredStream + `","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`
	for _, tt := range []struct{ name, table, stream, says string }{
		{"ready", ready, restoredStream, ""},
		{"ready, and its stream is not read", strings.Replace(ready, "NEW_AND_OLD_IMAGES", "KEYS_ONLY", 1), "", ""},
		{"while it is restored", strings.Replace(ready, "ACTIVE", "CREATING", 1), "", "wait until it is ACTIVE"},
		{"without deletion protection", strings.Replace(ready, `"DeletionProtectionEnabled":true`, `"DeletionProtectionEnabled":false`, 1), "", "--deletion-protection-enabled"},
		{"another kind of table", strings.Replace(ready, `"sk"`, `"id"`, 1), "", "its key is pk HASH, id RANGE"},
		{"with another stream", ready, restoredStream + "1", "its stream is"},
		{"with a stream of one image", strings.Replace(ready, "NEW_AND_OLD_IMAGES", "NEW_IMAGE", 1), restoredStream, "NEW_AND_OLD_IMAGES"},
		{"with a stream that is off", strings.Replace(ready, `"StreamEnabled":true`, `"StreamEnabled":false`, 1), restoredStream, "is off"},
	} {
		client := cloud(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			io.WriteString(w, `{"Table":{`+tt.table+`}}`)
		}), "").DynamoDB
		err := DynamoDB{client}.Check(t.Context(), restored, tt.stream)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}

type knownBuses map[string]bool

func (k knownBuses) Check(_ context.Context, arn string) error {
	if !k[arn] {
		return errors.New("no such bus")
	}
	return nil
}

func TestTheBusOfTheEventsMustBeThere(t *testing.T) {
	const arn = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
	for _, tt := range []struct {
		name, publish, arn string
		buses              Buses
		want               Verdict // "" for no finding
		says               string
	}{
		{"no events", "false", "", knownBuses{}, "", ""},
		{"a bus without events", "false", arn, knownBuses{}, Warning, "unused"},
		{"the stack's own bus", "true", "", knownBuses{}, OK, "creates"},
		{"a bus that is there", "true", arn, knownBuses{arn: true}, OK, arn},
		{"a bus that is not there", "true", arn, knownBuses{}, Failed, "no such bus"},
		{"a bus of another region", "true", strings.Replace(arn, "us-east-1", "eu-west-1", 1), knownBuses{}, Failed, "another region"},
		{"offline", "true", arn, nil, Warning, "not checked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &report{}
			bus(t.Context(), r, Deployment{Region: "us-east-1", Buses: tt.buses, Demand: demand.Demand{Parameters: []demand.Parameter{
				{Name: "PublishEvents", Value: tt.publish}, {Name: "EventBusArn", Value: tt.arn},
			}}})
			if tt.want == "" {
				if len(r.findings) != 0 {
					t.Errorf("found %+v", r.findings)
				}
				return
			}
			if len(r.findings) != 1 || r.findings[0].Verdict != tt.want || !strings.Contains(r.findings[0].Says, tt.says) {
				t.Errorf("found %+v, want %s with %q", r.findings, tt.want, tt.says)
			}
		})
	}
}

func TestABusIsLookedUpByItsARN(t *testing.T) {
	const arn = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
	there := EventBridge{Program{Words: []string{"sh", "-c", `[ "$*" = "describe-event-bus --name ` + arn + `" ] && echo '{"Arn":"x"}'`}}}
	if err := there.Check(t.Context(), arn); err != nil {
		t.Error(err)
	}
	if err := there.Check(t.Context(), "other"); err == nil {
		t.Error("a bus that is not there is fine")
	}
}

func TestHowBuyersSignInOnThePageIsChecked(t *testing.T) {
	pool := map[string]string{"CreateUserPool": "true", "PageOrigin": "https://shop.example", "SignInDomainPrefix": "shop"}
	other := map[string]string{"SignIn": "https://i.test/authorize,https://i.test/token,shop,openid", "PageOrigin": "https://shop.example"}
	front := map[string]string{"CreateFront": "true", "FrontDomainName": "shop.example", "ApiDomainName": "api.example"}
	maps.Copy(front, pool)
	for _, tt := range []struct {
		name          string
		base          map[string]string
		changed, with string
		want          Verdict
	}{
		{"the own pool", pool, "", "", OK},
		{"another issuer", other, "", "", OK},
		{"the API's domain", pool, "ApiDomainName", "shop.example", OK},
		{"another domain of the API", pool, "ApiDomainName", "api.example", Failed},
		{"a prefix that Cognito refuses", pool, "SignInDomainPrefix", "my-cognito-shop", Failed},
		{"no prefix", pool, "SignInDomainPrefix", "", Warning},
		{"no endpoint", other, "SignIn", ",,,openid", Warning},
		{"no origin", other, "PageOrigin", "", Warning},
		{"the front's domain, which is not the API's", front, "", "", OK},
		{"another domain of the front", front, "FrontDomainName", "other.example", Failed},
		{"a front of their own, whose domain is unknown", front, "CreateFront", "own", OK},
	} {
		d := sound()
		for name, value := range tt.base {
			if name == tt.changed {
				value = tt.with
			}
			give(&d, name, value)
		}
		if tt.base[tt.changed] == "" {
			give(&d, tt.changed, tt.with)
		}
		found := 0
		for _, f := range Run(t.Context(), d) {
			if f.Check == "buyer's page" {
				found++
				if f.Verdict != tt.want {
					t.Errorf("%s: %s %s, want %s", tt.name, f.Verdict, f.Says, tt.want)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s: %d findings", tt.name, found)
		}
	}
}
