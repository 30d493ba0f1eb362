package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/template"
	"flashsale/infra/proof/ledgertest"
)

func item(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk},
		"sk": &types.AttributeValueMemberS{Value: "SALE"},
	}
}

func start(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	o.Binary = enginetest.Binary(t)
	e, err := engine.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestAnAnsweredWriteIsThereAfterAKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	e := start(t, engine.Options{DBPath: file})
	client := engine.Client(e.Endpoint())
	enginetest.EnsureLedger(t, client, "ledger")
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("ledger"), Item: item("SALE#a")}); err != nil {
		t.Fatal(err)
	}
	e.Kill()

	again := engine.Client(start(t, engine.Options{DBPath: file}).Endpoint())
	enginetest.EnsureLedger(t, again, "ledger")
	out, err := again.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("ledger"), Key: item("SALE#a"), ConsistentRead: aws.Bool(true)})
	if err != nil || out.Item == nil {
		t.Errorf("got %v, %v, want the item", out, err)
	}
}

func TestStopEndsTheProcessAndMayBeRepeated(t *testing.T) {
	e := start(t, engine.Options{})
	for range 2 {
		if err := e.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-e.Done():
	default:
		t.Error("the process still runs after Stop")
	}
	if _, err := engine.Client(e.Endpoint()).ListTables(t.Context(), &dynamodb.ListTablesInput{}); err == nil {
		t.Error("a stopped engine answers")
	}
}

// The program begins to handle signals only after it answers.
func TestAnEngineThatIsStoppedAtOnceHasEndedWell(t *testing.T) {
	program := filepath.Join(t.TempDir(), "early")
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", earlyEngine, os.Args[0])
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Start(t.Context(), engine.Options{Binary: program})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}

// earlyEngine is set for a process that answers like an engine and does not handle signals.
const earlyEngine = "EARLY_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(earlyEngine) == "" {
		os.Exit(m.Run())
	}
	address := net.JoinHostPort(os.Args[2], os.Args[4]) // --host, --port
	err := http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"TableNames":[]}`))
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestTwoEnginesShareNothing(t *testing.T) {
	enginetest.Client(t, "ledger")
	out, err := engine.Client(enginetest.Start(t).Endpoint()).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 0 {
		t.Errorf("got %v, %v, want no table", out, err)
	}
}

func TestAShelteredEngineKeepsAPlaceOfItsOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	first, second := start(t, engine.Options{Sheltered: true, DBPath: file}), start(t, engine.Options{Sheltered: true})
	if first.Endpoint() == second.Endpoint() {
		t.Errorf("both are at %s", first.Endpoint())
	}
	enginetest.EnsureLedger(t, engine.Client(first.Endpoint()), "ledger")
	first.Kill()
	// While it is down, nobody else gets its place.
	if third := start(t, engine.Options{Sheltered: true}); third.Endpoint() == first.Endpoint() {
		t.Errorf("another engine got %s", third.Endpoint())
	}
	again, err := first.Again(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Client(first.Endpoint()).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 1 || again.Endpoint() != first.Endpoint() {
		t.Errorf("at %s are %v, %v, want the ledger", again.Endpoint(), out, err)
	}
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatDoesNotServeIsAnError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nothing")
	if _, err := engine.Start(t.Context(), engine.Options{Binary: missing}); err == nil {
		t.Error("a missing program was started")
	}
	ended := engine.Options{Binary: enginetest.Binary(t), DBPath: filepath.Join(missing, "no-such-folder", "x.db")}
	if _, err := engine.Start(t.Context(), ended); err == nil {
		t.Error("a program that ended at once was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.Start(ctx, engine.Options{Binary: enginetest.Binary(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func TestATableIsCreatedOnceWithTheTemplatesKeys(t *testing.T) {
	client := engine.Client(enginetest.Start(t).Endpoint())
	table := template.Table{
		Name:                 "orders",
		KeySchema:            []template.Key{{Name: "pk", Type: "HASH"}, {Name: "n", Type: "RANGE"}},
		AttributeDefinitions: []template.Attribute{{Name: "pk", Type: "S"}, {Name: "n", Type: "N"}},
	}
	for range 2 {
		if err := engine.EnsureTable(t.Context(), client, table); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*template.Table){
		"another key":         func(o *template.Table) { o.KeySchema = []template.Key{{Name: "pk", Type: "HASH"}} },
		"another type of key": func(o *template.Table) { o.AttributeDefinitions = []template.Attribute{{Name: "n", Type: "S"}} },
		"another kind of key": func(o *template.Table) {
			o.KeySchema = []template.Key{{Name: "pk", Type: "RANGE"}, {Name: "n", Type: "HASH"}}
		},
		"a key by another name": func(o *template.Table) {
			o.KeySchema = []template.Key{{Name: "id", Type: "HASH"}, {Name: "n", Type: "RANGE"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := table
			change(&other)
			if err := engine.EnsureTable(t.Context(), client, other); !errors.Is(err, engine.ErrOtherKeys) {
				t.Errorf("got %v, want ErrOtherKeys", err)
			}
		})
	}
}

// slowTables is a service in which creating a table takes time, and another client
// creates it concurrently.
type slowTables struct {
	creates   int
	describes int
}

func (s *slowTables) CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	s.creates++
	return nil, &types.ResourceInUseException{}
}

var errNoStreams = errors.New("no streams")

func (s *slowTables) UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	return nil, errNoStreams
}

func (s *slowTables) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	s.describes++
	if s.describes == 1 {
		return nil, &types.ResourceNotFoundException{}
	}
	status := types.TableStatusCreating
	if s.describes > 3 {
		status = types.TableStatusActive
	}
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableStatus: status}}, nil
}

func TestATableIsWaitedForWhoeverCreatedIt(t *testing.T) {
	s := &slowTables{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := engine.EnsureTable(ctx, s, template.Table{Name: "orders"}); err != nil {
		t.Fatal(err)
	}
	if s.creates != 1 || s.describes != 4 {
		t.Errorf("%d creations and %d looks, want 1 and 4", s.creates, s.describes)
	}
}

func TestTheLedgerOverTheEngine(t *testing.T) {
	client := engine.Client(enginetest.Start(t).Endpoint())
	tables := 0
	ledgertest.Run(t, func(t *testing.T) ledgertest.Engine {
		tables++
		name := fmt.Sprintf("Ledger%d", tables)
		enginetest.EnsureLedger(t, client, name)
		return ledgertest.Engine{API: client, Table: name}
	})
}

type executor interface {
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

func say(text string, parameters ...string) types.BatchStatementRequest {
	s := types.BatchStatementRequest{Statement: &text}
	for _, p := range parameters {
		s.Parameters = append(s.Parameters, &types.AttributeValueMemberS{Value: p})
	}
	return s
}

// The fake returns the items of failed conditions and checks the number of a statement's
// parameters, which the engine does not; the engine knows more of PartiQL. Otherwise the two
// must agree.
func TestTheEngineAndTheFakeAgreeOnStatements(t *testing.T) {
	const (
		insert = `INSERT INTO "ledger" VALUE {'pk': ?, 'sk': ?, 'user': ?}`
		update = `UPDATE "ledger" SET orderId = ? WHERE pk = ? AND sk = ? AND claimId = ? AND orderId IS MISSING`
	)
	steps := []struct {
		name  string
		batch []types.BatchStatementRequest
	}{
		{"inserts", []types.BatchStatementRequest{say(insert, "a", "1", "u"), say(insert, "a", "2", "u")}},
		{"an insert over an item", []types.BatchStatementRequest{say(insert, "a", "1", "other"), say(insert, "a", "3", "u")}},
		{"a condition on a missing attribute", []types.BatchStatementRequest{say(update, "7", "a", "1", "c")}},
		{"an update of no item", []types.BatchStatementRequest{say(`UPDATE "ledger" SET x = ? WHERE pk = ? AND sk = ?`, "1", "a", "none")}},
		{"an update", []types.BatchStatementRequest{say(`UPDATE "ledger" SET claimId = ?, n = ? WHERE pk = ? AND sk = ?`, "c", "5", "a", "1")}},
		{"a condition that holds, and one that does not", []types.BatchStatementRequest{say(update, "7", "a", "1", "c"), say(update, "7", "a", "2", "c")}},
		{"the same again", []types.BatchStatementRequest{say(update, "8", "a", "1", "c")}},
		{"one malformed among others", []types.BatchStatementRequest{say(`UPDAT "ledger"`), say(insert, "a", "4", "u")}},
		{"no sort key", []types.BatchStatementRequest{say(`UPDATE "ledger" SET x = ? WHERE pk = ?`, "1", "a")}},
		{"another table", []types.BatchStatementRequest{say(`UPDATE "other" SET x = ? WHERE pk = ? AND sk = ?`, "1", "a", "1")}},
		{"a key that is missing", []types.BatchStatementRequest{say(`INSERT INTO "ledger" VALUE {'pk': ?}`, "a")}},
		{"one item twice", []types.BatchStatementRequest{say(insert, "a", "5", "u"), say(insert, "a", "5", "u")}},
	}
	local := enginetest.Client(t, "ledger")
	fake := dynamotest.New(dynamotest.Table{Name: "ledger", PK: "pk", SK: "sk"})
	for _, step := range steps {
		if diff := cmp.Diff(answers(t, local, step.batch), answers(t, fake, step.batch)); diff != "" {
			t.Errorf("%s (-engine +fake):\n%s", step.name, diff)
		}
	}
	for _, sk := range []string{"1", "2", "3", "4", "5", "none"} {
		if diff := cmp.Diff(stored(t, local, sk), stored(t, fake, sk)); diff != "" {
			t.Errorf("item %s (-engine +fake):\n%s", sk, diff)
		}
	}
}

// answers are the codes of the statements and the items that they read, or the
// code of the whole batch.
func answers(t *testing.T, db executor, batch []types.BatchStatementRequest) (all []any) {
	t.Helper()
	out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: batch})
	if err != nil {
		return []any{codeOf(t, err)}
	}
	for _, r := range out.Responses {
		if r.Error != nil {
			all = append(all, string(r.Error.Code))
			continue
		}
		all = append(all, texts(r.Item))
	}
	return all
}

func stored(t *testing.T, db executor, sk string) map[string]string {
	t.Helper()
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String("ledger"), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}, "sk": &types.AttributeValueMemberS{Value: sk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts(out.Item)
}

func texts(it map[string]types.AttributeValue) map[string]string {
	out := map[string]string{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = "S " + v.Value
		case *types.AttributeValueMemberN:
			out[name] = "N " + v.Value
		}
	}
	return out
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("%v is no answer", err)
	}
	return api.ErrorCode()
}
