package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/template"
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

func TestATakenPortIsRefusedBeforeSomebodyElseAnswersThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = engine.Start(t.Context(), engine.Options{Binary: enginetest.Binary(t), Port: port})
	if !errors.Is(err, engine.ErrPortTaken) {
		t.Errorf("got %v, want ErrPortTaken", err)
	}
}

func TestAFixedPortIsUsed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	u, err := url.Parse(start(t, engine.Options{Port: port}).Endpoint())
	if err != nil || u.Port() != strconv.Itoa(port) {
		t.Errorf("endpoint %v, %v, want port %d", u, err, port)
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
