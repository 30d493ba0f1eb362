package eligibility

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	// Defaults for unset variables.
	defaultTimeout     = 300 * time.Millisecond
	defaultConcurrency = 8

	maxConcurrency = 1000
)

// FromEnv returns the checker that the environment variables describe, or nil if
// ELIGIBILITY_URL is empty. ELIGIBILITY_TIMEOUT_MS (300), ELIGIBILITY_CONCURRENCY (8)
// and ELIGIBILITY_FAIL_OPEN ("false", or "true") have defaults. It fails for invalid
// values, so that a misconfigured function fails at start (P19). now is Options.Now.
func FromEnv(now func() time.Time) (*Checker, error) {
	o := Options{URL: os.Getenv("ELIGIBILITY_URL"), Timeout: defaultTimeout, Concurrency: defaultConcurrency, Now: now}
	if text := os.Getenv("ELIGIBILITY_TIMEOUT_MS"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 1 || ms > int(MaxTimeout/time.Millisecond) {
			return nil, fmt.Errorf("ELIGIBILITY_TIMEOUT_MS is %q, want 1 to %d", text, MaxTimeout/time.Millisecond)
		}
		o.Timeout = time.Duration(ms) * time.Millisecond
	}
	if text := os.Getenv("ELIGIBILITY_CONCURRENCY"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxConcurrency {
			return nil, fmt.Errorf("ELIGIBILITY_CONCURRENCY is %q, want 1 to %d", text, maxConcurrency)
		}
		o.Concurrency = n
	}
	switch text := os.Getenv("ELIGIBILITY_FAIL_OPEN"); text {
	case "", "false":
	case "true":
		o.FailOpen = true
	default:
		return nil, fmt.Errorf("ELIGIBILITY_FAIL_OPEN is %q, want true or false", text)
	}
	if o.URL == "" {
		return nil, nil
	}
	c, err := New(o)
	if err != nil {
		return nil, fmt.Errorf("ELIGIBILITY_URL: %w", err)
	}
	return c, nil
}
