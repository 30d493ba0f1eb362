package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/client"
)

// mixed is a stack of which each function may be of another release.
type mixed struct {
	*stack
	folder    string // the stack's root
	last, new release
	functions []string // of the last release
}

// bootMixed starts a stack whose functions are those of the last release; functions that
// this has not are new. Without -last-release both are this release's.
func bootMixed(t *testing.T) *mixed {
	t.Helper()
	root := moduleRoot(t)
	m := &mixed{folder: t.TempDir(), new: release(filepath.Join(root, ".build", "host"))}
	if *withLast {
		m.last = lastRelease(t, root)
	} else { // the same programs from another folder
		m.last = release(filepath.Join(t.TempDir(), "last"))
		if err := os.Symlink(string(m.new), string(m.last)); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"template.yaml", "infra", ".build/engine"} {
		to := filepath.Join(m.folder, part)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Symlink(filepath.Join(root, part), to)); err != nil {
			t.Fatal(err)
		}
	}
	programs, err := filepath.Glob(m.new.program("*Function"))
	if err != nil || len(programs) < 5 {
		t.Fatalf("%d functions are built (%v); make host builds them", len(programs), err)
	}
	for _, program := range programs {
		function := filepath.Base(filepath.Dir(program))
		at := m.installed(function)
		if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "bootstrap"), []byte(starter), 0o755)); err != nil {
			t.Fatal(err)
		}
		from := m.new
		if _, err := os.Stat(m.last.program(function)); err == nil {
			from = m.last
			m.functions = append(m.functions, function)
		}
		m.install(t, function, from)
	}
	m.stack = boot(t, "-root", m.folder, "-parameter", "OrderVisibilityTimeout=9")
	return m
}

// starter is every function's program: it notes its process and release, and becomes the
// release's program. /proc would tell the same on Linux only.
const starter = `#!/bin/sh
program=$(readlink "${0%/*}/program")
echo "$$ $program" >>"${0%/*}/started"
exec "$program"
`

// install lets the next environment of a function run a release's program.
func (m *mixed) install(t *testing.T, function string, from release) {
	t.Helper()
	link := filepath.Join(m.installed(function), "program")
	if err := errors.Join(os.Symlink(from.program(function), link+".next"), os.Rename(link+".next", link)); err != nil {
		t.Fatal(err)
	}
}

func (m *mixed) installed(function string) string {
	return filepath.Join(m.folder, ".build", "host", function)
}

// environments returns the running environments of a function: their programs, by process.
func (m *mixed) environments(function string) map[int]string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.installed(function), "started"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	running := map[int]string{}
	for line := range strings.Lines(string(text)) {
		id, program, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(id)
		if err != nil || program == "" {
			m.t.Fatalf("%s started %q", function, line)
		}
		if syscall.Kill(pid, 0) == nil {
			running[pid] = program
		}
	}
	return running
}

// end kills environments, most of which are idle, and waits until the stack knows.
func (m *mixed) end(pids ...int) {
	m.t.Helper()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	m.eventually("the environments have ended", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// endAll ends all environments, so that the next ones remember nothing.
func (m *mixed) endAll() {
	m.t.Helper()
	for _, function := range m.functions {
		m.end(slices.Collect(maps.Keys(m.environments(function)))...)
	}
}

// shop sells on a mixed stack, and remembers what was promised.
type shop struct {
	*mixed
	saleID string
	units  int
	buyers int
	mu     sync.Mutex
	orders map[string]string // claim ids, by user
	states map[string]string // the latest state that each user saw
}

// sell lets new buyers come at once, each of whom must get a unit.
func (s *shop) sell(n int) {
	var wait sync.WaitGroup
	for range n {
		s.buyers++
		user := fmt.Sprint("buyer-", s.buyers)
		header := append(s.bearer(user), "Idempotency-Key", "once")
		wait.Go(func() {
			for range 100 {
				a, err := s.buy(s.saleID, header...)
				if err == nil && a.status == http.StatusAccepted {
					s.mu.Lock()
					s.orders[user] = a.text("claimId")
					s.mu.Unlock()
					return
				}
				if err != nil || a.text("code") != "busy" {
					s.t.Errorf("%s was told %v (%v)", user, a, err)
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			s.t.Errorf("%s never got an answer", user)
		})
	}
	wait.Wait()
}

// look asks for the orders from a buyer on and for the sale; no order may change or go
// back.
func (s *shop) look(from int) {
	s.t.Helper()
	for i := max(from, 1); i <= s.buyers; i++ {
		user := fmt.Sprint("buyer-", i)
		claimID := s.orders[user]
		a := s.must(s.call("GET", "/sales/"+s.saleID+"/orders/me", "", s.bearer(user)...))
		state := a.text("state")
		if a.status != http.StatusOK || a.text("claimId") != claimID || state != "CONFIRMED" && (state != "PENDING" || s.states[user] == "CONFIRMED") {
			s.t.Errorf("%s was %q with claim %s and is told %v", user, s.states[user], claimID, a)
		}
		s.states[user] = state
	}
	if a := s.must(s.call("GET", "/sales/"+s.saleID, "")); a.text("state") != "OPEN" {
		s.t.Errorf("the sale's page: %v", a)
	}
}

// operate adds a unit twice, which adds one, and audits.
func (s *shop) operate(seedID string) {
	s.t.Helper()
	s.units++
	request := fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":%q,"stock":1}`, s.saleID, seedID)
	for i := range 2 {
		if a, failed := s.seed(request); failed != "" || a["applied"] != (i == 0) || a["seeded"] != float64(s.units) {
			s.t.Errorf("%s: %v %s, want %d units", request, a, failed, s.units)
		}
	}
	for _, r := range s.reconcile() {
		if r["balanced"] != true {
			s.t.Errorf("receipt %v", r)
		}
	}
}

// TestTwoReleasesSellOneSale replaces the functions one by one in the middle of a sale,
// half of each one's environments first, and takes them back in the reverse order.
func TestTwoReleasesSellOneSale(t *testing.T) {
	t.Parallel()
	m := bootMixed(t)
	s := &shop{mixed: m, saleID: "moutai", units: 500, orders: map[string]string{}, states: map[string]string{}}
	m.open(s.saleID, s.units, 4)
	s.sell(4)
	back := slices.Clone(m.functions)
	slices.Reverse(back)
	for _, move := range []struct {
		name      string
		functions []string
		to        release
	}{{"deployment", m.functions, m.new}, {"roll-back", back, m.last}} {
		for _, function := range move.functions {
			before := slices.Collect(maps.Keys(m.environments(function)))
			m.install(t, function, move.to)
			half := (len(before) + 1) / 2
			m.end(before[:half]...)
			s.sell(4)
			s.look(s.buyers - 8)
			m.end(before[half:]...)
			s.sell(4)
			s.operate(move.name + "-" + function)
		}
		s.look(1)
		for _, function := range move.functions {
			for _, program := range m.environments(function) {
				if program != move.to.program(function) {
					t.Errorf("after the %s %s runs", move.name, program)
				}
			}
		}
		t.Run("a sale with payment after the "+move.name, func(t *testing.T) { m.readsPayment(t, "paid-"+move.name) })
		t.Run("a group of sales after the "+move.name, func(t *testing.T) { m.readsGroups(t, "group-"+move.name) })
		t.Run("a sale of a later release after the "+move.name, func(t *testing.T) { m.refusesLater(t, "later-"+move.name, s) })
		m.t = t
	}
	if b := m.balanced(s.saleID); len(b.Claims) != s.buyers || len(s.orders) != s.buyers {
		t.Errorf("%d buyers were promised an order, %d have one, want %d", len(s.orders), len(b.Claims), s.buyers)
	}
}

// change updates an item as a later release would.
func (m *mixed) change(t *testing.T, pk, sk, update string, values map[string]types.AttributeValue) {
	t.Helper()
	_, err := m.table().UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: new("LedgerTable"), UpdateExpression: &update, ExpressionAttributeValues: values,
		Key: map[string]types.AttributeValue{"pk": text(pk), "sk": text(sk)},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// readsPayment checks what these functions make of version 2: a sale with payment, as
// the release writes it that has payment.
func (m *mixed) readsPayment(t *testing.T, saleID string) {
	m.t = t
	m.open(saleID, 4, 1)
	users := []string{"payer", "late", "slow"}
	for _, user := range users {
		if a := m.must(m.buy(saleID, m.bearer(user)...)); a.status != http.StatusAccepted {
			t.Fatalf("%s: %v", user, a)
		}
	}
	m.balanced(saleID)
	for _, k := range [][2]string{{"SALE#" + saleID, "SALE"}, {"SALES", saleID}} {
		m.change(t, k[0], k[1], "SET minReader = :r, payWithin = :p", map[string]types.AttributeValue{":r": number(2), ":p": number(1800)})
	}
	now, bucket := number(time.Now().UnixMilli()), "CLAIM#"+saleID+"#0"
	m.change(t, bucket, "payer", "SET paidAt = :at, payment = :p", map[string]types.AttributeValue{":at": now, ":p": text("stripe#pi_1")})
	m.change(t, bucket, "late", "SET releasedAt = :at, releasedBy = :by", map[string]types.AttributeValue{":at": now, ":by": text("buyer")})
	m.change(t, "STOCK#"+saleID+"#0", "STOCK", "SET released = :one, putBack = :one, stock = stock + :one", map[string]types.AttributeValue{":one": number(1)})
	m.endAll()
	for user, want := range map[string]string{"payer": "PAID", "late": "CANCELLED", "slow": "CONFIRMED"} {
		if a := m.must(m.call("GET", "/sales/"+saleID+"/orders/me", "", m.bearer(user)...)); a.text("state") != want {
			t.Errorf("%s is told %v, want %s", user, a, want)
		}
	}
	a := m.must(m.buy(saleID, m.bearer("late")...))
	if claim, _ := a.body["claim"].(map[string]any); a.text("code") != "already-ordered" || claim["state"] != "CANCELLED" {
		t.Errorf("late asks again: %v", a)
	}
	if a := m.must(m.buy(saleID, m.bearer("lucky")...)); a.status != http.StatusAccepted {
		t.Errorf("the unit that is back: %v", a)
	}
	for _, r := range m.reconcile() {
		if r["balanced"] != true || r["saleId"] == saleID && (r["paid"] != 1.0 || r["released"] != 1.0 || r["stock"] != 1.0) {
			t.Errorf("receipt %v", r)
		}
	}
}

// readsGroups checks that these functions sell one order to a user in a group, as the
// release writes it that creates groups.
func (m *mixed) readsGroups(t *testing.T, group string) {
	m.t = t
	sales := []string{group + "-38", group + "-39"}
	for i, id := range sales {
		m.open(id, 4, 1+3*i)
		values := map[string]types.AttributeValue{":g": text(group), ":r": number(3)}
		m.change(t, "SALE#"+id, "SALE", "SET minReader = :r, limitGroup = :g", values)
		m.change(t, "SALE#"+id, "CREATE", "SET limitGroup = :g", map[string]types.AttributeValue{":g": text(group)})
		m.change(t, "SALES", id, "SET minReader = :r", map[string]types.AttributeValue{":r": number(3)})
	}
	m.change(t, "GROUP#"+group, "GROUP", "ADD sales :s", map[string]types.AttributeValue{":s": &types.AttributeValueMemberSS{Value: sales}})
	m.endAll()
	alice := m.bearer("alice")
	if a := m.must(m.buy(sales[0], alice...)); a.status != http.StatusAccepted {
		t.Errorf("the first order: %v", a)
	}
	if a := m.must(m.buy(sales[1], alice...)); a.text("code") != "already-ordered" || a.text("saleId") != sales[0] {
		t.Errorf("the second order: %v", a)
	}
	if a := m.must(m.call("GET", "/groups/"+group, "")); a.status != http.StatusOK || len(a.body["sales"].([]any)) != 2 {
		t.Errorf("the group's page: %v", a)
	}
	for _, id := range sales {
		m.balanced(id)
	}
}

// refusesLater checks that these functions leave a sale alone that they do not
// understand, and that others go on.
func (m *mixed) refusesLater(t *testing.T, saleID string, other *shop) {
	m.t = t
	m.open(saleID, 3, 1)
	for _, k := range [][2]string{{"SALE#" + saleID, "SALE"}, {"SALES", saleID}} {
		m.change(t, k[0], k[1], "SET minReader = :r", map[string]types.AttributeValue{":r": number(1000)})
	}
	m.endAll()
	alice := m.bearer("alice")
	for _, call := range [][2]string{{"POST", "/orders"}, {"GET", "/orders/me"}, {"GET", ""}} {
		a := m.must(m.call(call[0], "/sales/"+saleID+call[1], "", alice...))
		if a.status != http.StatusServiceUnavailable || a.text("code") != "busy" || a.header.Get("Retry-After") == "" {
			t.Errorf("%v: %v, want busy", call, a)
		}
	}
	if _, failed := m.seed(fmt.Sprintf(`{"action":"pause","saleId":%q}`, saleID)); failed == "" {
		t.Error("its edit is no error")
	}
	if a := m.invoke(client.ReconcileFunction, "{}"); a.header.Get(client.FunctionError) == "" {
		t.Errorf("reconcile says nothing of it: %v", a)
	}
	other.sell(1)
	// From here on reconcile must succeed again.
	for _, k := range [][2]string{{"SALE#" + saleID, "SALE"}, {"SALES", saleID}} {
		m.change(t, k[0], k[1], "REMOVE minReader", nil)
	}
}
