package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"flashsale/infra/kit/arguments"
)

func main() {
	testing.Init()
	root := flag.String("root", ".", "the repository")
	rounds := flag.Int("rounds", 15, "rounds per case; medians of fewer than 5 tell little")
	only := flag.String("only", "", "cases whose names match, all by default")
	starts := flag.Int("starts", 20, "cold starts per side; 0 for none")
	flag.CommandLine.Init("bench", flag.ContinueOnError)
	if err := arguments.Parse(flag.CommandLine, os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := run(*root, *only, *rounds, *starts); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(root, only string, rounds, starts int) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	if err := environment(); err != nil {
		return err
	}
	// Writing the log line is part of an invocation, even if the line is discarded.
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	// Lambda's contexts have a deadline; this one is far enough for all rounds.
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	all, clean, err := cases(ctx, root, log)
	if err != nil {
		return err
	}
	defer clean()
	var lines []string
	for _, c := range all {
		if !match.MatchString(c.name) {
			continue
		}
		f, err := measure(os.Stdout, c, rounds)
		if err != nil {
			return err
		}
		lines = append(lines, f.line(c.name))
	}
	if starts > 0 && match.MatchString("init") {
		more, err := measureInit(ctx, os.Stdout, root, starts)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	fmt.Println()
	for _, line := range lines {
		fmt.Println(line)
	}
	return nil
}

// environment sets the variables that the functions read at start, and those that keep
// every client away from real AWS.
func environment() error {
	for name, value := range map[string]string{
		"TABLE_NAME":                  table,
		"ORDER_QUEUE_URL":             queueURL,
		"AWS_EC2_METADATA_DISABLED":   "true",
		"AWS_LAMBDA_LOG_LEVEL":        "INFO",
		"AWS_CONFIG_FILE":             os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_CA_BUNDLE":               "", // not possible with a stub client
	} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set environment: %w", err)
		}
	}
	return nil
}

const queueURL = "https://sqs.eu-central-1.amazonaws.com/123456789012/OrderQueue"

// setBenchtime fixes the number of operations of the next testing.Benchmark, so that
// both sides do the same number and the duration of a run is known.
func setBenchtime(operations int) error {
	if err := flag.Set("test.benchtime", strconv.Itoa(operations)+"x"); err != nil {
		return fmt.Errorf("set operations: %w", err)
	}
	return nil
}
