package checks

import (
	"context"
	"fmt"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/beacon"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestStatementsAreNarrow(t *testing.T) {
	const statements = "Resources/PurchaseRole/Properties/Policies/0/PolicyDocument/Statement/"
	checkTemplate(t, []templateRule{
		{
			row:  3,
			name: "roles allow named actions, by policies of their own",
			check: func(tmpl template) (found []finding) {
				for _, role := range tmpl.resources("AWS::IAM::Role") {
					if managed := role.at("Properties", "ManagedPolicyArns"); managed.Node != nil {
						found = append(found, managed.find("%s takes over a policy that this template does not show", role.id))
					}
					for _, s := range tmpl.statements(role.id) {
						if s.at("Effect").text() != "Allow" || s.at("Action").Node == nil || s.at("Resource").Node == nil {
							found = append(found, s.find("%s: a statement allows actions by name on resources by name", role.id))
						}
						for _, action := range s.at("Action").list() {
							if strings.Contains(action.Value, "*") || !strings.Contains(action.text(), ":") {
								found = append(found, action.find("%s: action %q is not one action", role.id, action.Value))
							}
						}
					}
				}
				for _, f := range tmpl.functions() {
					if p := f.property("Policies"); p.Node != nil {
						found = append(found, p.find("%s: Policies have no effect beside Role", f.id))
					}
					trust := tmpl.at("Resources", f.property("Role").target(), "Properties", "AssumeRolePolicyDocument", "Statement")
					if len(trust.list()) != 1 || trust.at("0", "Principal", "Service").text() != "lambda.amazonaws.com" {
						found = append(found, f.find("%s: the role is not Lambda's alone", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PurchaseRole/Properties/ManagedPolicyArns", "['arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess']"},
				{statements + "0/Action", "['dynamodb:*']"},
				{statements + "1/Action", "'*'"},
				{statements + "0/Effect", "Deny"},
				{statements + "0/Resource", ""},
				{statements + "0", "{Effect: Allow, NotAction: 'iam:*', Resource: x}"},
				{"Resources/SeedRole/Properties/AssumeRolePolicyDocument/Statement/0/Principal", "{Service: ec2.amazonaws.com}"},
				{"Resources/SeedFunction/Properties/Policies", "[AWSLambda_FullAccess]"},
			},
		},
		{
			row:   3,
			name:  "each action is allowed on the one thing that it is for, and on anything only for traces",
			check: resourcesOfStatements,
			breaks: []edit{
				{statements + "0/Resource", "'*'"},
				{statements + "0/Resource", "!GetAtt OrderQueue.Arn"},
				{statements + "1/Resource", "!GetAtt OrderDeadLetterQueue.Arn"},
				{statements + "2/Resource", "!GetAtt SeedLogGroup.Arn"},
				{statements + "2/Resource", "'*'"},
				{statements + "3/Action", "[xray:PutTraceSegments, xray:GetTraceSummaries]"},
				{"Resources/FinalizeRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "!GetAtt OrderDeadLetterQueue.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource", "!GetAtt LedgerTable.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "'*'"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "!GetAtt OtherBus.Arn"},
				{"Resources/PublishRole/Properties/Policies/0/PolicyDocument/Statement/2/Resource", "!GetAtt OrderQueue.Arn"},
			},
		},
	})
}

func resourcesOfStatements(tmpl template) (found []finding) {
	for _, f := range tmpl.functions() {
		for _, s := range tmpl.statements(f.property("Role").target()) {
			for _, action := range s.at("Action").list() {
				for _, choice := range alternatives(s.at("Resource").own()) {
					for _, target := range choice.list() {
						if !serves(tmpl, f, action.text(), target) {
							found = append(found, target.find("%s may %s on %s", f.id, action.text(), target.Value))
						}
					}
				}
			}
		}
	}
	return found
}

// serves reports whether a function needs an action on that target.
func serves(tmpl template, f function, action string, target node) bool {
	id := target.target()
	service, _, _ := strings.Cut(action, ":")
	switch service {
	case "xray":
		return target.text() == "*" && (action == "xray:PutTraceSegments" || action == "xray:PutTelemetryRecords")
	case "dynamodb":
		if slices.Contains(streamActions, action) {
			return slices.ContainsFunc(f.events("DynamoDB"), func(e resource) bool {
				stream := e.at("Properties", "Stream").own()
				return target.Tag == "!GetAtt" && target.Tag == stream.Tag && target.Value == stream.Value
			})
		}
		return id != "" && id == f.variables()["TABLE_NAME"].target()
	case "logs":
		return id != "" && id == f.property("LoggingConfig", "LogGroup").target()
	case "events":
		buses := target.references()
		return len(buses) == 1 && slices.Contains(f.variables()["EVENT_BUS_NAME"].references(), buses[0])
	case "sqs":
		queues := []string{f.variables()["ORDER_QUEUE_URL"].target(), f.variables()["FAILURE_QUEUE_URL"].target(), f.failures().target()}
		for _, e := range f.events("SQS") {
			queues = append(queues, e.at("Properties", "Queue").target())
		}
		return id != "" && slices.Contains(queues, id)
	}
	return false
}

// executions are the operations that run PartiQL statements. None of them is an IAM
// action: each statement needs the action of its first word.
var executions = []string{
	"dynamodb:ExecuteStatement", "dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction",
}

var firstWords = map[string]string{
	"INSERT": "dynamodb:PartiQLInsert", "UPDATE": "dynamodb:PartiQLUpdate",
	"DELETE": "dynamodb:PartiQLDelete", "SELECT": "dynamodb:PartiQLSelect",
}

// statementText matches a PartiQL statement, or its beginning.
var statementText = regexp.MustCompile(`(?is)^\s*(?:(insert)\s+into\s|(update)\s+(?:"|\S+\s+(?:set|remove)\s)|(delete)\s+from\s|(select)\s.*\sfrom\s)`)

// statementAction returns the IAM action needed to run a text as a statement; "" if it
// is not a statement.
func statementAction(text string) string {
	for i, word := range statementText.FindStringSubmatch(text) {
		if i > 0 && word != "" {
			return firstWords[strings.ToUpper(word)]
		}
	}
	return ""
}

// execute replaces the execution operations by the actions of the statements.
func (w *walk) execute() {
	for _, execution := range executions {
		at, executes := w.found.actions[execution]
		if !executes {
			continue
		}
		delete(w.found.actions, execution)
		if len(w.texts) == 0 {
			w.t.Errorf("%s: runs statements that are written out nowhere", w.position(at))
		}
		for action, at := range w.texts {
			w.found.actions[action] = at
		}
	}
}

// text records the action that a text needs if it is a statement.
func (w *walk) text(text string, at token.Pos) {
	if action := statementAction(text); action != "" {
		w.texts[action] = at
	}
}

// noting is a hook that records the calls that a role must allow: the action and the
// partition key of each item, such as "dynamodb:GetItem SALE#moutai".
func noting(db *dynamotest.DB, calls map[string]bool) dynamotest.Hook {
	var mu sync.Mutex
	note := func(action string, items ...map[string]types.AttributeValue) {
		mu.Lock()
		defer mu.Unlock()
		for _, item := range items {
			if pk, ok := item["pk"].(*types.AttributeValueMemberS); ok {
				calls["dynamodb:"+action+" "+pk.Value] = true
			}
		}
	}
	return func(op string, in any, call func() (any, error)) (any, error) {
		switch in := in.(type) {
		case *dynamodb.GetItemInput:
			note(op, in.Key)
		case *dynamodb.BatchGetItemInput:
			for _, table := range in.RequestItems {
				note(op, table.Keys...)
			}
		case *dynamodb.QueryInput:
			note(op, map[string]types.AttributeValue{"pk": in.ExpressionAttributeValues[":pk"]})
		case *dynamodb.PutItemInput:
			note(op, in.Item)
		case *dynamodb.UpdateItemInput:
			note(op, in.Key)
		case *dynamodb.TransactWriteItemsInput:
			for _, item := range in.TransactItems {
				switch {
				case item.Put != nil:
					note("PutItem", item.Put.Item)
				case item.Update != nil:
					note("UpdateItem", item.Update.Key)
				case item.ConditionCheck != nil:
					note("ConditionCheckItem", item.ConditionCheck.Key)
				}
			}
		case *dynamodb.BatchExecuteStatementInput:
			// It needs an action for each statement; the table returns the item of each.
			db.Fault = func(c dynamotest.Call) dynamotest.Fault {
				for i, key := range c.Keys {
					pk, _, _ := strings.Cut(key, "|")
					calls[statementAction(aws.ToString(in.Statements[i].Statement))+" "+pk] = true
				}
				return dynamotest.Fault{}
			}
			defer func() { db.Fault = nil }()
		}
		return call()
	}
}

// callsOfASale runs a sale from its creation to its audit, each part with a separate
// ledger per function, and returns the calls of each function and the records of the
// table's stream.
func callsOfASale(t *testing.T) (calls map[string]map[string]bool, records [][]byte) {
	t.Helper()
	db := dynamotest.New(dynamotest.Table{Name: "table", PK: "pk", SK: "sk"})
	db.Stream = func(r dynamotest.Record) { records = append(records, r.JSON()) }
	calls = map[string]map[string]bool{}
	ledgers := map[string]*ledger.Ledger{}
	claims := 0
	for _, f := range []string{"Seed", "Purchase", "Finalize", "Query", "Reconcile", "Release", "Pay", "Operate", "Draw"} {
		calls[f] = map[string]bool{}
		ledgers[f] = ledger.New(dynamotest.WithHook(db, noting(db, calls[f])), "table", ledger.Options{
			Now: time.Now, Random: func() float64 { return 0.5 }, NewID: func() string { claims++; return fmt.Sprint("claim-", claims) },
		})
	}
	ctx := t.Context()
	time.Sleep(time.Until(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC))) // order ids begin after the year 2000 of virtual time
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	seed, purchase, query, reconcile := ledgers["Seed"], ledgers["Purchase"], ledgers["Query"], ledgers["Reconcile"]
	_, err := seed.Create(ctx, sale.Creation{SaleID: "moutai", Name: "Moutai", Stock: 4, Shards: 2, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)})
	must(err)
	_, err = seed.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 2})
	must(err)
	_, err = seed.Withdraw(ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "less", Stock: 2})
	must(err)
	_, err = seed.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "more-again", Stock: 2})
	must(err)
	_, err = seed.Edit(ctx, sale.Edit{SaleID: "moutai", At: time.Now(), Paused: aws.Bool(false)})
	must(err)
	s, err := query.Sale(ctx, "moutai")
	must(err)
	_, err = query.Remaining(ctx, s)
	must(err)
	var refs []ledger.ClaimRef
	for i := range 9 { // more than the stock, so that shards are closed
		user := fmt.Sprint("user-", i)
		p, err := purchase.Purchase(ctx, ledger.Request{SaleID: "moutai", User: user})
		if err == nil {
			refs = append(refs, ledger.ClaimRef{SaleID: "moutai", User: user, ClaimID: p.Claim.ID})
		}
		time.Sleep(3 * time.Second)
	}
	if len(refs) != 6 {
		t.Fatalf("%d of 6 units were sold", len(refs))
	}
	var order uint64
	for range 2 { // a message may come twice
		for _, c := range ledgers["Finalize"].Confirm(ctx, refs[:4]) {
			must(c.Err)
			order = c.Order.ID
		}
	}
	claim, err := query.Claim(ctx, "moutai", refs[5].User)
	must(err)
	_, err = query.Order(ctx, order)
	must(err)
	pay := ledgers["Pay"]
	paid := sale.Payment{Provider: "stripe", Reference: "pi_1", OrderID: order, Amount: 1, Currency: "CNY"}
	for _, reference := range []string{"pi_1", "pi_2"} { // one too many
		paid.Reference = reference
		_, err = pay.Pay(ctx, paid)
		must(err)
	}
	time.Sleep(ledger.LateOrderWait)
	for _, p := range []sale.Payment{{SaleID: "elsewhere", OrderID: order}, {OrderID: order + 1000}} {
		p.Provider, p.Reference, p.Amount, p.Currency = paid.Provider, fmt.Sprint("pi_", p.OrderID), 1, "CNY"
		_, err = pay.Pay(ctx, p)
		must(err)
	}
	of, err := query.Order(ctx, order)
	must(err)
	buyer, err := query.Claim(ctx, "moutai", of.User)
	must(err)
	refunds, err := query.RefundsOf(ctx, buyer)
	must(err)
	if len(refunds) != 1 {
		t.Fatalf("got refunds %+v of %+v", refunds, buyer)
	}
	_, err = seed.Create(ctx, sale.Creation{SaleID: "unpaid", Stock: 1, Shards: 1, PayWithin: time.Hour, LimitGroup: "wines", OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)})
	must(err)
	_, err = query.Group(ctx, "wines")
	must(err)
	held, err := purchase.Purchase(ctx, ledger.Request{SaleID: "unpaid", User: "alice"})
	must(err)
	must(ledgers["Finalize"].Confirm(ctx, []ledger.ClaimRef{{SaleID: "unpaid", User: "alice", ClaimID: held.Claim.ID}})[0].Err)
	_, err = pay.Cancel(ctx, "unpaid", "alice")
	must(err)
	time.Sleep(10 * time.Minute)
	for _, l := range []*ledger.Ledger{purchase, reconcile} {
		_, err = l.MarkResent(ctx, claim, false)
		must(err)
	}
	must(reconcile.Unmark(ctx, claim, time.Now()))
	_, err = reconcile.Listings(ctx)
	must(err)
	listing, err := reconcile.Listing(ctx, "moutai")
	must(err)
	audit := &ledger.Audit{SaleID: listing.SaleID}
	receipt, err := reconcile.Step(ctx, audit, func(sale.Claim) {})
	must(err)
	if receipt == nil || !receipt.Balanced {
		t.Fatalf("the receipt is %+v", receipt)
	}
	must(reconcile.SaveCursor(ctx, audit, receipt))
	drained, err := reconcile.Drain(ctx, receipt)
	must(err)
	if !drained {
		t.Fatal("the sale was not drained")
	}
	callsOfAPayment(ctx, must, ledgers)
	callsOfADraw(ctx, must, ledgers)
	callsOfAnOperator(ctx, must, ledgers, of)
	callsOfARecall(ctx, must, ledgers)
	return calls, records
}

// callsOfAnOperator asks for everything that operators may see of a sale and of an order of
// it, and makes each change.
func callsOfAnOperator(ctx context.Context, must func(error), ledgers map[string]*ledger.Ledger, o sale.Order) {
	operate := ledgers["Operate"]
	_, err := operate.Standings(ctx, true)
	must(err)
	_, _, err = operate.Standing(ctx, o.SaleID)
	must(err)
	_, _, err = operate.Trail(ctx, o.SaleID, 10)
	must(err)
	claim, err := operate.Claim(ctx, o.SaleID, o.User)
	must(err)
	_, err = operate.Order(ctx, o.ID)
	must(err)
	_, err = operate.RefundsOf(ctx, claim)
	must(err)
	_, err = operate.OrderedIn(ctx, "wines", o.User)
	must(err)
	c := sale.Creation{SaleID: "operated", Stock: 1, Shards: 1, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)}
	_, err = ledgers["Seed"].Create(ctx, c)
	must(err)
	_, err = operate.Edit(ctx, sale.Edit{SaleID: c.SaleID, OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)})
	must(err)
	_, err = operate.Describe(ctx, sale.Description{SaleID: c.SaleID, About: aws.String("53 %")})
	must(err)
	_, err = operate.Add(ctx, sale.Addition{SaleID: c.SaleID, SeedID: "more", Stock: 2})
	must(err)
	_, err = operate.Withdraw(ctx, sale.Withdrawal{SaleID: c.SaleID, SeedID: "less", Stock: 1})
	must(err)
	_, err = operate.Recall(ctx, sale.Recall{SaleID: c.SaleID})
	must(err)
}

// callsOfADraw runs a sale with a draw into its second call, and somebody enters it while
// an operator moves its end.
func callsOfADraw(ctx context.Context, must func(error), ledgers map[string]*ledger.Ledger) {
	const settle, dice, gap, lead = time.Minute, time.Minute, time.Minute, 3 * time.Minute
	c := sale.Creation{SaleID: "shoes", Stock: 1, Shards: 1, OpensAt: time.Now().Add(time.Minute + lead), ClosesAt: time.Now().Add(24 * time.Hour)}
	c.DrawTerms = sale.DrawTerms{EnterFrom: time.Now(), EnterUntil: time.Now().Add(time.Minute), KeepFor: time.Hour}
	_, err := ledgers["Seed"].Create(ctx, c)
	must(err)
	purchase, query, leads := ledgers["Purchase"], ledgers["Query"], ledgers["Draw"]
	for _, user := range []string{"user-0", "user-1"} {
		_, err = purchase.Enter(ctx, "shoes", user, settle, nil)
		must(err)
	}
	_, err = ledgers["Operate"].Edit(ctx, sale.Edit{SaleID: "shoes", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour), DrawLead: lead})
	must(err)
	time.Sleep(time.Minute + settle)
	_, err = leads.Listings(ctx)
	must(err)
	_, err = leads.Listing(ctx, "shoes")
	must(err)
	d, err := leads.DrawState(ctx, "shoes", gap)
	must(err)
	head, err := leads.CloseRoll(ctx, d.Sale, beacon.Quicknet.RoundAt, dice)
	must(err)
	signature := make([]byte, beacon.SignatureSize)
	seed := draw.SeedOf("shoes", head.Roll, beacon.Randomness(signature))
	must(leads.SetSeed(ctx, d.Sale, seed, signature))
	must(leads.SetSeed(ctx, d.Sale, seed, signature)) // two runs
	for range 2 {
		d, err = leads.DrawState(ctx, "shoes", gap)
		must(err)
		time.Sleep(time.Until(d.NextCallAt(gap)))
		leaves, err := leads.Leaves(ctx, d.Sale, head.Roll)
		must(err)
		ranks := draw.Ranks(seed, leaves)
		_, err = leads.BeginCall(ctx, d, ranks, gap)
		must(err)
		call, err := leads.FinishCall(ctx, "shoes", ranks, gap)
		must(err)
		if !call.Complete {
			must(fmt.Errorf("call %+v", call))
		}
		for i, by := range []string{"Seed", "Operate"} {
			_, err = ledgers[by].Edit(ctx, sale.Edit{SaleID: "shoes", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour), Until: call.Until.Add(time.Duration(i+1) * time.Minute)})
			must(err)
		}
		time.Sleep(gap)
	}
	for _, user := range []string{"user-0", "user-1"} {
		_, _ = purchase.Purchase(ctx, ledger.Request{SaleID: "shoes", User: user, CallGap: gap})
		_, err = purchase.Entry(ctx, "shoes", user, settle)
		must(err)
	}
	d, err = leads.DrawState(ctx, "shoes", gap)
	must(err)
	time.Sleep(time.Until(d.NextCallAt(gap)))
	_, err = leads.DrawState(ctx, "shoes", gap) // now it looks for units, too
	must(err)
	s, err := query.Sale(ctx, "shoes")
	must(err)
	_, err = query.Draw(ctx, s)
	must(err)
	_, err = query.RollPage(ctx, s, 0)
	must(err)
}

// callsOfARecall recalls the sale, of which an order is paid, and makes a pass.
func callsOfARecall(ctx context.Context, must func(error), ledgers map[string]*ledger.Ledger) {
	_, err := ledgers["Seed"].Recall(ctx, sale.Recall{SaleID: "moutai", Author: sale.Author{Note: "defective"}})
	must(err)
	listing, err := ledgers["Release"].Listing(ctx, "moutai")
	must(err)
	done, err := ledgers["Release"].ReleaseDue(ctx, listing, 0)
	must(err)
	if done.Released == 0 || done.Refunded != 1 {
		must(fmt.Errorf("recalled %+v", done))
	}
}

// callsOfAPayment runs a sale that asks for payment until nobody has paid.
func callsOfAPayment(ctx context.Context, must func(error), ledgers map[string]*ledger.Ledger) {
	c := sale.Creation{SaleID: "wine", Stock: 1, Shards: 1, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), PayWithin: time.Minute}
	_, err := ledgers["Seed"].Create(ctx, c)
	must(err)
	p, err := ledgers["Purchase"].Purchase(ctx, ledger.Request{SaleID: "wine", User: "user-0"})
	must(err)
	must(ledgers["Finalize"].Confirm(ctx, []ledger.ClaimRef{{SaleID: "wine", User: "user-0", ClaimID: p.Claim.ID}})[0].Err)
	time.Sleep(time.Minute)
	for _, saleID := range []string{"", "wine"} {
		_, err = ledgers["Reconcile"].Refunds(ctx, saleID)
		must(err)
	}
	release := ledgers["Release"]
	_, err = release.Listings(ctx)
	must(err)
	listing, err := release.Listing(ctx, "wine")
	must(err)
	done, err := release.ReleaseDue(ctx, listing, 0)
	must(err)
	if done.Released != 1 || done.PutBack != 1 || !done.Complete {
		must(fmt.Errorf("released %+v", done))
	}
}

// refused returns the calls that no statement of a function's role allows, and the
// patterns of its statements that no call needs.
func refused(tmpl template, f function, calls map[string]bool) (found []finding) {
	used := map[string]bool{}
	for call := range calls {
		action, pk, _ := strings.Cut(call, " ")
		allowed := false
		for _, s := range tmpl.statements(f.property("Role").target()) {
			if !slices.ContainsFunc(s.at("Action").list(), func(n node) bool { return n.text() == action }) {
				continue
			}
			keys := s.at("Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys")
			if keys.Node == nil {
				found = append(found, s.find("%s may %s on every key", f.id, action))
			}
			for _, key := range keys.list() {
				if matches, err := path.Match(key.text(), pk); err == nil && matches {
					allowed, used[s.place+key.text()] = true, true
				}
			}
		}
		if !allowed {
			found = append(found, f.find("%s may not %s", f.id, call))
		}
	}
	for _, s := range tmpl.statements(f.property("Role").target()) {
		for _, key := range s.at("Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys").list() {
			if !used[s.place+key.text()] {
				found = append(found, key.find("%s may reach %s and never does", f.id, key.text()))
			}
		}
	}
	return found
}

func TestRolesReachTheItemsTheirFunctionsNeed(t *testing.T) {
	var calls map[string]map[string]bool
	synctest.Test(t, func(t *testing.T) { calls, _ = callsOfASale(t) })
	const statements = "Properties/Policies/0/PolicyDocument/Statement/"
	checkTemplate(t, []templateRule{{
		row:  5,
		name: "a role is held to the leading keys that its function reads and writes in a sale, and to no other",
		check: func(tmpl template) (found []finding) {
			for _, f := range tmpl.functions() {
				found = append(found, refused(tmpl, f, calls[strings.TrimSuffix(f.id, "Function")])...)
			}
			return found
		},
		breaks: []edit{
			{"Resources/PurchaseRole/" + statements + "1/Condition", ""},
			{"Resources/PurchaseRole/" + statements + "1/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys", `["CLAIM#*", "ORDER#*"]`},
			{"Resources/PurchaseRole/" + statements + "0/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys/2", ""},
			{"Resources/ReconcileRole/" + statements + "1/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys", `["CLAIM#*", "SALES", "STOCK#*"]`},
			{"Resources/FinalizeRole/" + statements + "1/Condition", ""},
			{"Resources/FinalizeRole/" + statements + "2/Condition", ""},
			{"Resources/FinalizeRole/" + statements + "2/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys/0", "CLAIM#*"},
			{"Resources/FinalizeRole/" + statements + "3/Action/0", "dynamodb:PartiQLDelete"},
		},
	}})
}
