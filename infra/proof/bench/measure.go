package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// cpuTime is the CPU time of this process so far, in user and system mode.
func cpuTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// benchmark is the body of a benchmark of run. In addition to the usual figures it
// reports cpu-ns/op: on a shared machine the wall clock depends on other processes.
func benchmark(run func() error) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		before, err := cpuTime()
		if err != nil {
			b.Fatal(err)
		}
		for range b.N {
			if err := run(); err != nil {
				b.Fatal(err)
			}
		}
		after, err := cpuTime()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
	}
}

// sample is one round of one side.
type sample struct{ cpu, allocs float64 }

// figures are the samples of a case's rounds, of handler and bare.
type figures struct {
	handler, bare []sample
}

// measure runs a case for that many rounds, alternating its sides, so that changes of
// the machine affect both. Each round is written to out in benchstat's format.
func measure(out io.Writer, c *benchCase, rounds int) (figures, error) {
	var f figures
	for range rounds {
		s, err := once(out, c.name+"/handler", c.operations, c.handler)
		if err != nil {
			return f, err
		}
		f.handler = append(f.handler, s)
		if c.bare == nil {
			continue
		}
		if s, err = once(out, c.name+"/bare", c.operations, c.bare); err != nil {
			return f, err
		}
		f.bare = append(f.bare, s)
	}
	return f, nil
}

func once(out io.Writer, name string, operations int, run func() error) (sample, error) {
	if err := setBenchtime(operations); err != nil {
		return sample{}, err
	}
	r := testing.Benchmark(benchmark(run))
	if r.N == 0 {
		return sample{}, fmt.Errorf("run %s: failed", name)
	}
	if _, err := fmt.Fprintf(out, "Benchmark%s-%d\t%s\t%s\n", name, runtime.GOMAXPROCS(0), r, r.MemString()); err != nil {
		return sample{}, fmt.Errorf("write result: %w", err)
	}
	return sample{r.Extra["cpu-ns/op"], float64(r.MemAllocs) / float64(r.N)}, nil
}

// line is the case's summary: handler over bare, the median of the rounds' ratios, or
// absolute figures if there is nothing to compare with.
func (f figures) line(name string) string {
	cpu, allocs := make([]float64, len(f.handler)), make([]float64, len(f.handler))
	for i, h := range f.handler {
		cpu[i], allocs[i] = h.cpu, h.allocs
		if f.bare != nil {
			cpu[i], allocs[i] = h.cpu/f.bare[i].cpu, h.allocs/f.bare[i].allocs
		}
	}
	if f.bare == nil {
		return fmt.Sprintf("absolute %s cpu=%.1fµs allocs=%.0f", name, median(cpu)/1e3, median(allocs))
	}
	return fmt.Sprintf("ratio %s cpu=%.2f allocs=%.2f", name, median(cpu), median(allocs))
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	if n == 0 {
		return 0
	}
	return (xs[(n-1)/2] + xs[n/2]) / 2
}
