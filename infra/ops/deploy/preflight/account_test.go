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
	"flashsale/infra/ops/target"
	"flashsale/infra/ops/target/targettest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// account is one whose services answer so.
func account(t *testing.T, answers map[string]string) Account {
	t.Helper()
	targettest.Account(t, targettest.Services(answers))
	cfg, err := target.Config(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return Account{AWS: cfg}
}

const deployed = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>UPDATE_COMPLETE</StackStatus>` +
	`<Parameters><member><ParameterKey>AlarmEmail</ParameterKey><ParameterValue>ops@shop.example</ParameterValue></member></Parameters>` +
	`<Outputs><member><OutputKey>ApiUrl</OutputKey><OutputValue>https://a.test</OutputValue></member>` +
	`<member><OutputKey>TableName</OutputKey><OutputValue>shop-Ledger-1</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

func TestLimitsComeFromTheServices(t *testing.T) {
	none := Limits{
		Account: "123456789012 as arn:aws:iam::123456789012:user/me", Concurrency: 1000, Unreserved: 470,
		TableWrites: 40_000, Rate: 10_000,
	}
	own, existing := none, none
	own.Deployed, own.WarmWrites = map[string]string{"AlarmEmail": "ops@shop.example"}, 40_000
	existing.Deployed = map[string]string{"ExistingTable": "shop-Ledger-1"} // it gets no throughput from the stack
	for _, tt := range []struct {
		name, stack string
		want        Limits
	}{
		{"no stack", "", none},
		{"one whose first change set nobody has executed", strings.Replace(deployed, "UPDATE_COMPLETE", "REVIEW_IN_PROGRESS", 1), none},
		{"a stack", deployed, own},
		{"a stack on an existing table", strings.NewReplacer("AlarmEmail", "ExistingTable", "ops@shop.example", "shop-Ledger-1").Replace(deployed), existing},
	} {
		answers := targettest.Quotas(1000, 470)
		answers["DescribeStacks"], answers["DescribeTable"] = tt.stack, `{"Table":{"WarmThroughput":{"ReadUnitsPerSecond":20000,"WriteUnitsPerSecond":40000,"Status":"ACTIVE"}}}`
		if got, err := account(t, answers).Limits(t.Context(), "shop"); err != nil || !cmp.Equal(tt.want, got) {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, cmp.Diff(tt.want, got))
		}
	}
}

func TestWhatTheAccountDoesNotAnswerIsAnError(t *testing.T) {
	for action := range targettest.Quotas(0, 0) {
		for _, answer := range []string{"refused: AccessDeniedException: User: me", "{}"} {
			answers := targettest.Quotas(1000, 470)
			if answers[action] = answer; action == "GetCallerIdentity" && answer == "{}" {
				continue
			}
			if l, err := account(t, answers).Limits(t.Context(), "shop"); err == nil || answer != "{}" && !strings.Contains(target.Explain(err).Error(), "AWS does not allow it to these credentials: me") {
				t.Errorf("%s is answered %s: %+v, %v, want an error that says so", action, answer, l, err)
			}
		}
	}
	if err := account(t, map[string]string{"DescribeEventBus": `{"Arn":"x"}`}).Bus(t.Context(), bus); err != nil {
		t.Error(err)
	}
	if err := account(t, nil).Bus(t.Context(), "other"); err == nil {
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
