package lambda

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	runtime "github.com/aws/aws-lambda-go/lambda"
)

// TestMain is the bootstrap program, too. Its function says in which process it runs, after a while if it
// is asked for that, or panics.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		os.Exit(m.Run())
	}
	runtime.Start(func(does string) (int, error) {
		if does == "panic" {
			panic(does)
		}
		after, err := time.ParseDuration(does)
		time.Sleep(after)
		return os.Getpid(), err
	})
}

// ask sends the events at once, and returns the answers in their order.
func ask(t *testing.T, s *Service, events ...string) []string {
	answers := make([]string, len(events))
	var all sync.WaitGroup
	for i, e := range events {
		all.Go(func() {
			answer, _, err := s.Invoke(context.Background(), "F", fmt.Appendf(nil, "%q", e))
			if answers[i] = string(answer); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return answers
}

func TestAFunctionWithNoPlaceForAnEventIsRefused(t *testing.T) {
	for _, atOnce := range []int{0, -1} {
		if s, err := New([]Function{{Name: "F", Command: os.Args[0], Timeout: time.Second, AtOnce: atOnce}}, Options{}); err == nil {
			t.Errorf("%d at once: got %v, want an error", atOnce, s)
		}
	}
}

func TestEventsShareAProcessAndWhatEndsOneLeavesTheOthersTheirAnswers(t *testing.T) {
	s, err := New([]Function{{Name: "F", Command: os.Args[0], Timeout: 6 * time.Second, AtOnce: 4,
		Env: map[string]string{"AWS_LAMBDA_MAX_CONCURRENCY": "3"}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pids := func(answers ...string) int {
		distinct := map[string]bool{}
		for _, a := range answers {
			if distinct[a] = true; strings.Contains(a, "error") {
				t.Errorf("an event got %s", a)
			}
		}
		return len(distinct)
	}
	for events, want := range map[int]int{3: 1, 4: 2} {
		if got := pids(ask(t, s, slices.Repeat([]string{"1s"}, events)...)...); got != want {
			t.Errorf("%d events ran in %d processes with three places, want %d", events, got, want)
		}
	}
	for _, tt := range []struct {
		bad, says string
		lead      time.Duration // by which it comes before the one beside it
	}{{"7s", "Task timed out after 6.00 seconds", 3 * time.Second}, {"panic", `"errorType":"string"`, -3 * time.Second}} {
		besides := make(chan []string, 1)
		go func() {
			time.Sleep(max(0, tt.lead))
			besides <- ask(t, s, "5s")
		}()
		time.Sleep(max(0, -tt.lead))
		if bad := ask(t, s, tt.bad); !strings.Contains(bad[0], tt.says) {
			t.Errorf("%s: got %s, want %s", tt.bad, bad, tt.says)
		}
		time.Sleep(500 * time.Millisecond) // a panicking program may still be given an event, which dies with it
		next := ask(t, s, "0s")
		if len(besides) > 0 {
			t.Errorf("%s: the next event waited until the one beside it had ended", tt.bad)
		}
		if got := pids(append(<-besides, next...)...); got != 2 {
			t.Errorf("%s: the event beside it and the next one ran in %d processes, want 2", tt.bad, got)
		}
	}
}
