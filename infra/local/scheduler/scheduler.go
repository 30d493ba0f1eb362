// Package scheduler implements EventBridge Scheduler for a template's ScheduleV2
// events: it reads at(), rate() and cron() expressions, invokes a function when one is due,
// and retries invocations that fail.
//
// It decides when to invoke and with which payload; it does not run functions.
package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"flashsale/infra/local/eventsource"
	"flashsale/infra/local/template"
)

// Schedule is a schedule of the template and the function that it invokes. Of its input's context attributes only
// <aws.scheduler.scheduled-time> runs locally.
type Schedule struct {
	template.Schedule
	Function string
}

type Options struct {
	// Since is when the schedules were created, which Run makes up for: what was due since
	// then is fired at once.
	Since time.Time
	Log   *slog.Logger
}

type Scheduler struct {
	o       Options
	run     eventsource.Invoker
	entries []entry
}

type entry struct {
	Schedule
	due Expression
}

// New parses all schedules, including disabled ones, whose mistakes should not first
// show when they are enabled.
func New(schedules []Schedule, i eventsource.Invoker, o Options) (*Scheduler, error) {
	s := &Scheduler{o: o, run: i}
	for _, schedule := range schedules {
		due, err := Parse(schedule.Expression)
		if err != nil {
			return nil, fmt.Errorf("read schedule %s: %w", schedule.Name, err)
		}
		input := payload(schedule, time.Now())
		if !json.Valid(input) {
			return nil, fmt.Errorf("read schedule %s: input is not JSON", schedule.Name)
		}
		if bytes.Contains(input, []byte("<aws.scheduler.")) {
			return nil, fmt.Errorf("read schedule %s: no other context attribute than %s runs locally", schedule.Name, scheduledTime)
		}
		s.entries = append(s.entries, entry{schedule, due})
	}
	return s, nil
}

// Run fires the enabled schedules until ctx ends, then lets running invocations
// finish within the grace period and returns nil.
//
// A rate schedule is first due one period after Options.Since: on AWS it runs first when
// it is created, but booting the local stack creates nothing.
func (s *Scheduler) Run(ctx context.Context) error {
	running := eventsource.NewRunning(ctx)
	var loops sync.WaitGroup
	for _, e := range s.entries {
		if !e.Enabled {
			continue
		}
		loops.Go(func() {
			s.follow(ctx, e, func(due time.Time) {
				// In its own goroutine: a slow invocation must not delay the next one.
				running.Go(func() { s.fire(ctx, running.Context, e.Schedule, due) })
			})
		})
	}
	loops.Wait()
	<-ctx.Done()
	running.Finish()
	return nil
}

// follow calls fire at each due time until ctx ends or no due time is left.
func (s *Scheduler) follow(ctx context.Context, e entry, fire func(time.Time)) {
	due, ok := e.due.Next(s.o.Since)
	for ok {
		if !s.wait(ctx, due) {
			return
		}
		fire(due)
		due, ok = e.due.Next(due)
		// Due times missed while the machine slept are skipped.
		for now := time.Now(); ok && due.Before(now); {
			due, ok = e.due.Next(due)
		}
	}
}

// wait returns true at the given time and false if ctx ends first. It checks the clock
// every minute, because timers do not notice that it was set or that the machine slept.
func (s *Scheduler) wait(ctx context.Context, until time.Time) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		left := time.Until(until)
		if left <= 0 {
			return true
		}
		eventsource.Sleep(ctx, min(left, time.Minute))
	}
}

// fire invokes once and retries failures. Retries end with ctx; the running invocation
// ends with work.
func (s *Scheduler) fire(ctx, work context.Context, schedule Schedule, due time.Time) {
	log := s.o.Log.With("schedule", schedule.Name, "function", schedule.Function, "due", due.UTC())
	rest := time.Second
	for attempt := 1; ; attempt++ {
		_, functionError, err := s.run.Invoke(work, schedule.Function, payload(schedule, due))
		if err == nil && functionError == "" {
			return
		}
		log.Warn("scheduled invocation failed", "attempt", attempt, "functionError", functionError, "error", err)
		if attempt > schedule.RetryAttempts || time.Since(due)+rest > schedule.MaxEventAge {
			log.Error("scheduled invocation given up", "attempts", attempt)
			return
		}
		eventsource.Sleep(ctx, rest)
		if ctx.Err() != nil {
			return
		}
		rest = min(2*rest, time.Minute)
	}
}

const scheduledTime = "<aws.scheduler.scheduled-time>"

// payload returns the input with the due time in its place.
func payload(schedule Schedule, due time.Time) []byte {
	if schedule.Input == "" {
		return []byte("{}")
	}
	return []byte(strings.ReplaceAll(schedule.Input, scheduledTime, due.UTC().Format(time.RFC3339)))
}
