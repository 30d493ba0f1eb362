package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flashsale/infra/lab/catalogue"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
)

type options struct {
	strategies []shop.Spec
	scenarios  []scenario.Scenario
	seed       uint64
	seeds      int
	json       bool
	page       string
	root, path string
	program    string // itself, of which application servers are made
	// speed is how long a round of the comparison of speed takes, with so many clients; 0 makes none.
	speed   time.Duration
	clients int
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var strategies, scenarios string
	f := flag.NewFlagSet("lab", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&strategies, "strategy", "", "only these strategies or families, by `name`, separated by commas")
	f.StringVar(&scenarios, "scenario", "", "only these scenarios, by `name`, separated by commas")
	f.Uint64Var(&o.seed, "seed", 1, "repeats the crowd and the accidents of an earlier run")
	f.IntVar(&o.seeds, "seeds", 1, "how many seeds, counted from -seed, 1 to 100")
	f.BoolVar(&o.json, "json", false, "print an array of rows instead of a table")
	f.StringVar(&o.page, "page", "", "write an HTML page of the run to this `file`")
	f.DurationVar(&o.speed, "speed", 0, "compare speed instead, with the local stack, in rounds of this `duration` for each row, -seeds rounds")
	f.IntVar(&o.clients, "clients", 64, "how many clients buy at a time in the comparison of speed, 1 to 1000")
	f.StringVar(&o.root, "root", "", "the project's `folder` (default: the one with template.yaml, from here upwards)")
	f.StringVar(&o.path, "engines", "", "look for engines in these `folders` only")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(stderr)
		f.PrintDefaults()
	}
	if err != nil {
		return o, err
	}
	var errs []error
	if f.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	for _, n := range []struct {
		name     string
		is, most int
	}{{"seeds", o.seeds, 100}, {"clients", o.clients, 1000}} {
		if n.is < 1 || n.is > n.most {
			errs = append(errs, fmt.Errorf("-%s is %d; it must be 1 to %d", n.name, n.is, n.most))
		}
	}
	if o.speed > 0 {
		strategies = cmp.Or(strategies, rivals)
	}
	o.strategies, err = choose("strategy", catalogue.All(), strategies, func(s shop.Spec) []string { return []string{s.Name, s.Family} })
	errs = append(errs, err)
	o.scenarios, err = choose("scenario", scenario.All(), scenarios, func(s scenario.Scenario) []string { return []string{s.Name} })
	errs = append(errs, err)
	o.program, err = os.Executable()
	errs = append(errs, err)
	if o.root == "" {
		o.root, err = projectRoot()
		errs = append(errs, err)
	}
	return o, cmp.Or(errs...)
}

// choose is what of all is named, in the order of all.
func choose[T any](kind string, all []T, names string, of func(T) []string) (chosen []T, err error) {
	if names == "" {
		return all, nil
	}
	var known []string // by the first name of each
	wanted, found := strings.Split(names, ","), map[string]bool{}
	for _, one := range all {
		known = append(known, of(one)[0])
		meant := slices.DeleteFunc(of(one), func(name string) bool { return !slices.Contains(wanted, name) })
		for _, name := range meant {
			found[name] = true
		}
		if len(meant) > 0 {
			chosen = append(chosen, one)
		}
	}
	for _, name := range wanted {
		if !found[name] {
			return nil, fmt.Errorf("there is no %s %q; there are %s", kind, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// projectRoot is the folder with template.yaml above the working directory; the lab has a go.mod of
// its own below it.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find project: %w", err)
	}
	for above := ""; dir != above; above, dir = dir, filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "template.yaml")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("find project: no template.yaml from here upwards; name it with -root")
}
