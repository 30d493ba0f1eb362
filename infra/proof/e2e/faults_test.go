package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// faultsMet returns how many calls of the functions had which fault.
func (s *stack) faultsMet() map[string]int {
	s.t.Helper()
	var health struct{ FaultsMet map[string]int }
	if err := json.Unmarshal([]byte(s.must(s.call("GET", "/_local/health", "")).raw), &health); err != nil {
		s.t.Fatal(err)
	}
	return health.FaultsMet
}

// recovered waits until every claim of the sale has its order. A lost message is resent
// after half a minute at the earliest, so this takes about as long; twice that if the
// mark of a resend was lost, too.
func (s *stack) recovered(saleID string) {
	s.t.Helper()
	for end := time.Now().Add(4 * patience); time.Now().Before(end); time.Sleep(time.Second) {
		s.reconcile()
		b := s.books(saleID)
		if len(b.Unfinished()) == 0 {
			return
		}
	}
	s.t.Fatalf("claims of %s are still pending (P8)", saleID)
}

func TestThePromisesHoldUnderFaultsAndEverythingIsFinalizedOnceTheyStop(t *testing.T) {
	t.Parallel()
	s := boot(t, "-faults", "harsh,send=0.3,seed=1", "-parameter", "OrderVisibilityTimeout=9")
	const users, stock = 150, 60
	crowd := s.rush("moutai", stock, 4, users, 2)
	met := s.faultsMet()
	t.Logf("faults met: %v", met)
	for _, kind := range []string{"conflict", "inflight", "throttle", "error", "lost", "late", "send-failed", "send-lost"} {
		if met[kind] == 0 {
			t.Errorf("no call met %s: %v", kind, met)
		}
	}

	s.stop()
	s.extra = s.extra[2:] // on the same data, without faults
	s.start()
	if met := s.faultsMet(); met != nil {
		t.Fatalf("the faults have not stopped: %v", met)
	}
	s.recovered("moutai")
	if winners := s.keptPromises(crowd); winners != stock {
		t.Errorf("%d were given a claim, want %d", winners, stock)
	}
}

func TestFaultsThatCannotBeReadAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ faults, says string }{{"hash", "hash"}, {"conflict=2", "conflict"}} {
		command := exec.Command(filepath.Join(moduleRoot(t), ".build/host/local"), "-faults", c.faults, "-data", t.TempDir())
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v, %s", c.faults, err, out)
		}
	}
}
