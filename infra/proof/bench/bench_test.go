package bench

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/local/lambda"
)

func TestBothSidesOfEachCaseWork(t *testing.T) {
	for _, c := range cases(t) {
		handler, bare := c.sides(t)
		if err := errors.Join(handler(), bare()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// measureCPU reports the CPU time until the end of the benchmark, of this process (syscall.RUSAGE_SELF) or of
// its ended children: on a shared machine the wall clock depends on other processes.
func measureCPU(b *testing.B, who int) (end func()) {
	used := func() float64 {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		return float64(used.Utime.Nano() + used.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric((used()-before)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkCall(b *testing.B) {
	for _, c := range cases(b) {
		handler, bare := c.sides(b)
		for range 300 { // code, heap and connections are warm before either side is measured, which says what fails
			_ = errors.Join(handler(), bare())
		}
		for side, run := range map[string]func() error{"handler": handler, "bare": bare} {
			b.Run(c.name+"/side="+side, func(b *testing.B) {
				b.ReportAllocs()
				defer measureCPU(b, syscall.RUSAGE_SELF)()
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkColdStart starts the real purchase function, and the bare one, as Lambda does,
// until it has answered one event.
func BenchmarkColdStart(b *testing.B) {
	event := envelope(b, "purchase.json")
	aws := httptest.NewServer(accepting())
	defer aws.Close()
	for side, name := range map[string]string{"handler": "purchase", "bare": "bare"} {
		program, err := filepath.Abs(filepath.Join(root, ".build", "host", name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("side="+side, func(b *testing.B) {
			defer measureCPU(b, syscall.RUSAGE_CHILDREN)()
			for b.Loop() {
				start(b, program, aws.URL, event)
			}
		})
	}
}

func start(b *testing.B, program, awsURL string, event []byte) {
	service, err := lambda.New([]lambda.Function{{
		Name: "PurchaseFunction", Command: program, Timeout: time.Minute, AtOnce: 1,
		Env: map[string]string{"AWS_ENDPOINT_URL": awsURL, "TABLE_NAME": table, "ORDER_QUEUE_URL": queueURL},
	}}, lambda.Options{})
	if err != nil {
		b.Fatal(err)
	}
	answer, failure, err := service.Invoke(b.Context(), "PurchaseFunction", event)
	if err = errors.Join(err, service.Close()); err != nil || failure != "" || !bytes.Contains(answer, []byte(accepted)) {
		b.Fatalf("%s answers %s (%v, %s)", program, answer, err, failure)
	}
}
