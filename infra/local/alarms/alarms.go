// Package alarms is the part of CloudWatch that the operators' page looks at, on one machine:
// which alarms ring. Of the stack's alarms it knows those of functions that fail, of purchases that do,
// and of draws that are late, each within a minute; the others need metrics that nothing collects here.
package alarms

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
)

// Alarms is safe for concurrent use.
type Alarms struct {
	prefix string
	now    func() time.Time

	mu     sync.Mutex
	failed map[string][]time.Time // by function, since the window began
	late   map[string][]time.Time // by alarm, likewise
	// purchases are the answers of each minute, and how many of them failed.
	purchases map[time.Time]struct{ all, failed int }
}

// New returns the alarms of a stack of that name.
func New(stack string, now func() time.Time) *Alarms {
	return &Alarms{
		prefix: stack + "-", now: now, failed: map[string][]time.Time{}, late: map[string][]time.Time{},
		purchases: map[time.Time]struct{ all, failed int }{},
	}
}

// window is how long a failure counts: three periods of a minute, as in template.yaml for most functions.
const window = 3 * time.Minute

// ofErrors are the alarms of functions' errors, as in template.yaml.
var ofErrors = map[string]string{
	"PurchaseFunction": "FunctionErrorsAlarm", "FinalizeFunction": "FunctionErrorsAlarm", "QueryFunction": "FunctionErrorsAlarm",
	"ReconcileFunction": "FunctionErrorsAlarm", "PageFunction": "FunctionErrorsAlarm", "PayFunction": "PaymentErrorsAlarm",
	"ReleaseFunction": "PaymentErrorsAlarm", "DrawFunction": "DrawErrorsAlarm", "PublishFunction": "PublishErrorsAlarm",
	"OperateFunction": "OperateErrorsAlarm", "RefundFunction": "RefundErrorsAlarm",
}

// Failed notes that an invocation of a function failed.
func (a *Alarms) Failed(function string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed[function] = append(a.recent(a.failed[function]), a.now())
}

func (a *Alarms) recent(times []time.Time) []time.Time {
	from := a.now().Add(-window)
	return slices.DeleteFunc(times, func(at time.Time) bool { return at.Before(from) })
}

// ofFigures are the alarms of a figure that DrawFunction logs, and the thresholds, as in alarms.yaml.
var ofFigures = []struct {
	figure, alarm string
	threshold     int
}{{`"diceLateSeconds":`, "DiceLateAlarm", 300}, {`"callLateSeconds":`, "CallLateAlarm", 180}}

// Write takes one whole line of the functions' log.
func (a *Alarms) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range ofFigures {
		_, rest, _ := bytes.Cut(line, []byte(of.figure))
		digits, _, _ := bytes.Cut(rest, []byte(","))
		if n, err := strconv.Atoi(string(digits)); err == nil && n >= of.threshold {
			a.late[of.alarm] = append(a.recent(a.late[of.alarm]), a.now())
		}
	}
	if bytes.Contains(line, []byte(`"purchases":1`)) {
		minute := a.now().Truncate(time.Minute)
		n := a.purchases[minute]
		if n.all++; bytes.Contains(line, []byte(`"result":"busy"`)) || bytes.Contains(line, []byte(`"result":"internal"`)) {
			n.failed++
		}
		a.purchases[minute] = n
	}
	return len(line), nil
}

// ringing returns when each alarm that rings began to.
func (a *Alarms) ringing() map[string]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]time.Time{}
	for function := range a.failed {
		a.failed[function] = a.recent(a.failed[function])
		if times := a.failed[function]; len(times) > 0 {
			name := ofErrors[function]
			if since, rings := all[name]; name != "" && (!rings || times[0].Before(since)) {
				all[name] = times[0]
			}
			// In two minutes of three.
			if function == "FinalizeFunction" && times[len(times)-1].Sub(times[0]) >= time.Minute {
				all["FinalizeFailingAlarm"] = times[0]
			}
		}
	}
	for alarm := range a.late {
		if a.late[alarm] = a.recent(a.late[alarm]); len(a.late[alarm]) > 0 {
			all[alarm] = a.late[alarm][0]
		}
	}
	for minute, n := range a.purchases {
		if since, rings := all["PurchasesFailingAlarm"]; minute.Before(a.now().Add(-window)) {
			delete(a.purchases, minute)
		} else if n.failed >= 5 && 20*n.failed >= n.all && (!rings || minute.Before(since)) {
			all["PurchasesFailingAlarm"] = minute
		}
	}
	return all
}

// ServeHTTP answers DescribeAlarms with the alarms that ring, whatever it asks for. Signatures are
// not checked.
func (a *Alarms) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	if r.URL.Path != "/service/GraniteServiceVersion20100801/operation/DescribeAlarms" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	ringing, list := a.ringing(), cbor.List{}
	for _, name := range slices.Sorted(maps.Keys(ringing)) {
		list = append(list, cbor.Map{
			"AlarmName":             cbor.String(a.prefix + name + "-LOCAL"),
			"StateValue":            cbor.String("ALARM"),
			"StateUpdatedTimestamp": &cbor.Tag{ID: 1, Value: cbor.Float64(float64(ringing[name].UnixMilli()) / 1000)},
		})
	}
	_, _ = w.Write(cbor.Encode(cbor.Map{"MetricAlarms": list}))
}
