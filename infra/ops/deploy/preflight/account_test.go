package preflight

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/place/placetest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const answers = `case "$*" in
"sts get-caller-identity") echo '{"Account":"123456789012","Arn":"arn:aws:iam::123456789012:user/me"}';;
"lambda get-account-settings") echo '{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":470}}';;
"dynamodb describe-limits") echo '{"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":60000,"TableMaxWriteCapacityUnits":40000}';;
"dynamodb describe-table --table-name shop-Ledger-1") echo '{"Table":{"WarmThroughput":{"ReadUnitsPerSecond":20000,"WriteUnitsPerSecond":40000,"Status":"ACTIVE"}}}';;
"apigateway get-account") echo '{"throttleSettings":{"burstLimit":5000,"rateLimit":10000.0}}';;
"cloudformation list-stacks") echo '{"StackSummaries":[{"StackName":"gone","StackStatus":"DELETE_COMPLETE"},{"StackName":"shop","StackStatus":"UPDATE_COMPLETE"}]}';;
"cloudformation describe-stacks --stack-name shop") echo '{"Stacks":[{"Parameters":[{"ParameterKey":"LogLevel","ParameterValue":"INFO"}],
 "Outputs":[{"OutputKey":"ApiUrl","OutputValue":"https://a.test"},{"OutputKey":"TableName","OutputValue":"shop-Ledger-1"}]}]}';;
*) echo "unexpected: $*" >&2; exit 1;;
esac
`

func TestLimitsComeFromTheServices(t *testing.T) {
	want := Limits{
		Account: "123456789012 as arn:aws:iam::123456789012:user/me", Concurrency: 1000, Unreserved: 470,
		TableReads: 60_000, TableWrites: 40_000, Rate: 10_000,
	}
	a := Account{}
	placetest.Program(t, "aws", answers)
	for _, stack := range []string{"gone", "new"} {
		if got, err := a.Limits(t.Context(), stack); err != nil || !cmp.Equal(want, got) {
			t.Errorf("stack %s: %v (-want +got):\n%s", stack, err, cmp.Diff(want, got))
		}
	}
	want.Deployed, want.WarmReads, want.WarmWrites = map[string]string{"LogLevel": "INFO"}, 20_000, 40_000
	if got, err := a.Limits(t.Context(), "shop"); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	// The stack gives an existing table no throughput, so that table's is nothing to compare with.
	placetest.Program(t, "aws", strings.NewReplacer("LogLevel", "ExistingTable", "INFO", "shop-Ledger-1").Replace(answers))
	want.Deployed, want.WarmReads, want.WarmWrites = map[string]string{"ExistingTable": "shop-Ledger-1"}, 0, 0
	if got, err := a.Limits(t.Context(), "shop"); err != nil || !cmp.Equal(want, got) {
		t.Errorf("with an existing table: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

func TestWhatTheAWSCLIDoesNotAnswerIsAnError(t *testing.T) {
	for name, script := range map[string]string{
		"it fails": "echo no credentials >&2; exit 255\n", "no JSON": "echo hello\n", "no limit": "echo '{}'\n",
	} {
		placetest.Program(t, "aws", script)
		if l, err := (Account{}).Limits(t.Context(), "shop"); err == nil {
			t.Errorf("%s: %+v, want an error", name, l)
		}
	}
	placetest.Program(t, "aws", `[ "$*" = "events describe-event-bus --name `+bus+`" ] && echo '{"Arn":"x"}'`)
	if err := (Account{}).Bus(t.Context(), bus); err != nil {
		t.Error(err)
	}
	if err := (Account{}).Bus(t.Context(), "other"); err == nil {
		t.Error("a bus that is not there is fine")
	}
}

func TestAnIssuerIsAcceptedIfAPIGatewayAcceptsIt(t *testing.T) {
	answers := map[string]string{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, answers[r.URL.Path])
	}))
	defer server.Close()
	const good = `{"keys":[{"kty":"EC"},{"kty":"RSA"}]}`
	plain := strings.Replace(server.URL, "https", "http", 1)
	for _, tt := range []struct {
		name, issuer     string
		named, at, keys  string // by the discovery document; what is there
		accepted, strict bool   // strict: the server's certificate is not trusted
	}{
		{"sound", server.URL, server.URL, server.URL + "/jwks.json", good, true, false},
		{"another issuer's document", server.URL, "https://other.test", server.URL + "/jwks.json", good, false, false},
		{"an extra slash", server.URL, server.URL + "/", server.URL + "/jwks.json", good, false, false},
		{"keys over plain http", server.URL, server.URL, plain + "/jwks.json", good, false, false},
		{"missing keys", server.URL, server.URL, server.URL + "/none", good, false, false},
		{"no RSA key", server.URL, server.URL, server.URL + "/jwks.json", `{"keys":[{"kty":"EC"}]}`, false, false},
		{"no key", server.URL, server.URL, server.URL + "/jwks.json", `{}`, false, false},
		{"no JSON", server.URL, server.URL, server.URL + "/jwks.json", `no keys`, false, false},
		{"no address", "", "", server.URL + "/jwks.json", good, false, false},
		{"no host", "https://", "https://", server.URL + "/jwks.json", good, false, false},
		{"plain http", plain, plain, server.URL + "/jwks.json", good, false, false},
		{"no document", server.URL + "/tenant", server.URL + "/tenant", server.URL + "/jwks.json", good, false, false},
		{"an unknown certificate", server.URL, server.URL, server.URL + "/jwks.json", good, false, true},
	} {
		answers["/.well-known/openid-configuration"], answers["/jwks.json"] = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, tt.named, tt.at), tt.keys
		d := Account{HTTP: server.Client()}
		if tt.strict {
			d.HTTP = &http.Client{}
		}
		if err := d.Issuer(t.Context(), tt.issuer); (err == nil) != tt.accepted {
			t.Errorf("%s: %v, want accepted %t", tt.name, err, tt.accepted)
		}
	}
}

// described is a table in memory of which DynamoDB says this.
type described struct {
	*dynamotest.DB
	types.TableDescription
}

func (d described) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &d.TableDescription}, nil
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
	tables := Account{DynamoDB: described{db, types.TableDescription{TableSizeBytes: aws.Int64(1)}}}
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

func TestARestoredTableThatIsNotReadyIsRefused(t *testing.T) {
	type table = types.TableDescription
	for _, tt := range []struct {
		name, stream, says string
		spoil              func(*table)
	}{
		{"ready", restoredStream, "", func(*table) {}},
		{"ready, and its stream is not read", "", "", func(t *table) { t.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly }},
		{"while it is restored", "", "wait until it is ACTIVE", func(t *table) { t.TableStatus = types.TableStatusCreating }},
		{"without deletion protection", "", "--deletion-protection-enabled", func(t *table) { t.DeletionProtectionEnabled = nil }},
		{"another kind of table", "", "its key is pk HASH", func(t *table) { t.KeySchema = t.KeySchema[:1] }},
		{"with another stream", restoredStream + "1", "its stream is", func(*table) {}},
		{"with a stream of one image", restoredStream, "NEW_AND_OLD_IMAGES", func(t *table) { t.StreamSpecification.StreamViewType = types.StreamViewTypeNewImage }},
		{"with a stream that is off", restoredStream, "is off", func(t *table) { t.StreamSpecification = nil }},
	} {
		about := table{
			TableStatus: types.TableStatusActive, DeletionProtectionEnabled: aws.Bool(true), LatestStreamArn: aws.String(restoredStream),
			KeySchema:           []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
			StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
		}
		tt.spoil(&about)
		err := Account{DynamoDB: described{nil, about}}.Table(t.Context(), restored, tt.stream)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}
