package stack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"flashsale/infra/local/alarms"
	"flashsale/infra/local/lambda"
	"flashsale/infra/local/loopback"
	"flashsale/infra/local/metrics"
	"flashsale/infra/local/scheduler"
	"flashsale/infra/local/sqspoller"
	"flashsale/infra/local/template"
)

// startFunctions starts the Lambda service with the template's functions.
func (s *Stack) startFunctions(l net.Listener) error {
	s.FunctionLog = filepath.Join(s.o.Data, "functions.log")
	// Of some hundred thousand requests, and as much again that is older.
	log := &lumberjack.Logger{Filename: s.FunctionLog, MaxSize: 128, MaxBackups: 1}
	s.onStop(log.Close)
	s.killShare.Store(math.Float64bits(s.o.KillAtResponse))
	ringing, counts := alarms.New(template.StackName, time.Now), &metrics.Metrics{}
	cloudWatch := http.NewServeMux()
	cloudWatch.Handle("/", ringing)
	cloudWatch.Handle(metrics.Operation, counts)
	if err := s.startBeside(cloudWatch); err != nil {
		return err
	}
	s.environments = map[string]map[string]string{}
	account, reserved := s.throttles()
	var functions []lambda.Function
	for _, f := range s.described.Functions {
		command := filepath.Join(s.o.Root, ".build", "host", f.LogicalID, "bootstrap")
		if _, err := os.Stat(command); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("function %s is not built: %s is missing (make host builds it)", f.LogicalID, command)
		}
		env := s.environment(f, s.o.Faults != "", s.places(f))
		s.environments[f.LogicalID] = env
		functions = append(functions, lambda.Function{
			Name: f.LogicalID, Command: command, Env: env,
			Timeout: f.Timeout, MemoryMB: f.MemoryMB, AtOnce: s.atOnce(f), Reserved: reserved(f),
		})
	}
	var err error
	s.functions, err = lambda.New(functions, lambda.Options{
		Logs: io.MultiWriter(log, counts, ringing), AfterResponse: s.killAtResponse, Failed: ringing.Failed, Concurrency: account,
		TimerSlack: TimerSlack,
	})
	if err != nil {
		return err
	}
	s.onStop(s.functions.Close)
	s.serve(l, s.functions.InvokeHandler(), loopback.Rules{})
	return nil
}

// startBeside starts what only functions call.
func (s *Stack) startBeside(cloudWatch http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.cloudWatch = address(l)
	s.serve(l, cloudWatch, loopback.Rules{})
	return nil
}

// localRuntime tunes Go programs for a machine on which dozens of them share a few
// processors: one processor each, because one event needs no more, and a larger heap
// instead of collecting a tiny one every few events. The template's own values take
// precedence.
var localRuntime = map[string]string{"GOMAXPROCS": "1", "GOGC": "400"}

func (s *Stack) startPollers() {
	for _, f := range s.described.Functions {
		for _, source := range f.Queues {
			concurrency := s.atOnce(f)
			if source.MaximumConcurrency > 0 {
				concurrency = min(concurrency, source.MaximumConcurrency)
			}
			p := sqspoller.New(sqspoller.Config{
				QueueURL: s.queueURL(source.Queue), QueueARN: "arn:aws:sqs:" + region + ":" + accountID + ":" + source.Queue,
				Function:  f.LogicalID,
				BatchSize: source.BatchSize, Window: source.Window, Concurrency: concurrency, Log: s.o.Log,
			}, s.queueClient(), s.functions)
			s.keep(p.Run)
		}
	}
}

// startScheduler runs the template's schedules. The template's own seeding schedule,
// set to the near future, seeds the demonstration sale: so even a first run exercises
// the scheduled invocation.
func (s *Stack) startScheduler() error {
	described := s.described
	if s.o.DemoSale {
		var err error
		if described, err = s.load(map[string]string{
			"SeedScheduleExpression": "at(" + time.Now().UTC().Add(2*time.Second).Format("2006-01-02T15:04:05") + ")",
			"SeedScheduleInput":      demoSale,
		}); err != nil {
			return err
		}
	}
	var schedules []scheduler.Schedule
	for _, f := range described.Functions {
		for _, e := range f.Schedules {
			schedule := scheduler.Schedule{Schedule: e, Function: f.LogicalID}
			schedules = append(schedules, schedule)
			if s.o.PricedSale && e.Input == demoSale {
				schedule.Name, schedule.Input = schedule.Name+"Priced", pricedSale
				schedules = append(schedules, schedule)
			}
		}
	}
	sched, err := scheduler.New(schedules, s.functions, scheduler.Options{Since: s.began, Log: s.o.Log})
	if err != nil {
		return err
	}
	s.keep(sched.Run)
	return nil
}
