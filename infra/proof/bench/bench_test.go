package bench

import (
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/local/lambda"
)

func TestEachCaseMakesTheCallsOfItsOutcomeAndNoOther(t *testing.T) {
	want := map[string]string{
		"purchase-accepted":        "TransactWriteItems SendMessage",
		"purchase-accepted-socket": "TransactWriteItems SendMessage",
		"purchase-duplicate":       "TransactWriteItems",
		"purchase-sold-out":        "GetItem",
		"query-claim":              "GetItem",
	}
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			s := c.sides(t)
			if err := s.handler(); err != nil {
				t.Error(err)
			}
			if err := s.bare(); err != nil {
				t.Error(err)
			}
			var names []string
			for _, input := range s.calls {
				name := reflect.TypeOf(input).Elem().Name()
				names = append(names, strings.TrimSuffix(name, "Input"))
			}
			calls, known := want[c.name]
			if got := strings.Join(names, " "); known && got != calls {
				t.Errorf("the handler calls %q, want %q", got, calls)
			}
			if !known && (len(names) == 0 || len(names) > 4) {
				t.Errorf("finalize calls %q, want at most 4 calls for 25 messages", names)
			}
		})
	}
}

// cpuTime is the CPU time of this process (syscall.RUSAGE_SELF) or of its ended children so
// far, in user and system mode.
func cpuTime(b *testing.B, who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// reportCPU reports the CPU time since before: on a shared machine the wall clock depends
// on other processes.
func reportCPU(b *testing.B, who int, before time.Duration) {
	b.ReportMetric(float64(cpuTime(b, who)-before)/float64(b.N), "cpu-ns/op")
}

func BenchmarkCall(b *testing.B) {
	for _, c := range cases(b) {
		s := c.sides(b)
		side := func(run func() error) func(*testing.B) {
			return func(b *testing.B) {
				b.ReportAllocs()
				if err := run(); err != nil { // a connection is made, and the sale is read
					b.Fatal(err)
				}
				before := cpuTime(b, syscall.RUSAGE_SELF)
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
				reportCPU(b, syscall.RUSAGE_SELF, before)
			}
		}
		b.Run(c.name+"/side=handler", side(s.handler))
		b.Run(c.name+"/side=bare", side(s.bare))
	}
}

// BenchmarkColdStart starts the real purchase function, and the bare one, as Lambda does,
// until it has answered one event.
func BenchmarkColdStart(b *testing.B) {
	event := envelope(b, "purchase.json")
	aws := httptest.NewServer(endpoints{getSale: saleAnswer(false), "TransactWriteItems": done()})
	defer aws.Close()
	for side, name := range map[string]string{"handler": "purchase", "bare": "bare"} {
		program, err := filepath.Abs(filepath.Join(root, ".build", "host", name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("side="+side, func(b *testing.B) {
			before := cpuTime(b, syscall.RUSAGE_CHILDREN)
			for b.Loop() {
				start(b, program, aws.URL, event)
			}
			reportCPU(b, syscall.RUSAGE_CHILDREN, before)
		})
	}
}

func start(b *testing.B, program, awsURL string, event []byte) {
	service, err := lambda.New([]lambda.Function{{
		Name: "PurchaseFunction", Command: program, Timeout: time.Minute, Processes: 1,
		Env: map[string]string{"AWS_ENDPOINT_URL": awsURL, "TABLE_NAME": table, "ORDER_QUEUE_URL": queueURL},
	}}, lambda.Options{})
	if err != nil {
		b.Fatal(err)
	}
	answer, failure, err := service.Invoke(b.Context(), "PurchaseFunction", event)
	if err != nil || failure != "" {
		b.Fatalf("%v, %s: %s", err, failure, answer)
	}
	benchCase{name: program, status: 202}.expect(b, answer)
	if err := service.Close(); err != nil {
		b.Fatal(err)
	}
}
