package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/awscli"
	"flashsale/infra/ops/deploy/rehearse"
)

func runRehearse(ctx context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("rehearse", complaints)
	r := rehearse.Rehearsal{Sale: fresh("rehearsal"), Now: time.Now}
	url := f.String("url", "", "the API's address")
	f.Float64Var(&r.Rate, "rate", 50, "buyers a second")
	f.Float64Var(&r.Peak, "peak", 0, "buyers a second at the opening (default -rate)")
	f.DurationVar(&r.Duration, "duration", 30*time.Second, "how long buyers arrive")
	f.IntVar(&r.Stock, "stock", 0, "units (default half of the buyers)")
	f.IntVar(&r.Shards, "shards", 16, "stock shards")
	f.BoolVar(&r.Payments, "payments", false, "buyers must pay within a minute, and a third does not; the local stack only")
	f.StringVar(&r.Tokens, "tokens", "", "`file` with one access token per line, each of a different user")
	f.BoolVar(&r.AllowRemote, "allow-remote", false, "allow a target on another machine: real calls that cost money")
	f.StringVar(&r.Report, "report", ".build/rehearsal.html", "`file` of the HTML report")
	if err := parse(f, args); err != nil {
		return err
	}
	var e samconfig.Environment
	var err error
	// Refuse before calling AWS.
	if *file.env != "" && !r.AllowRemote {
		return rehearse.ErrRemote
	}
	if *file.env != "" {
		if e, err = file.environment(nil); err != nil {
			return err
		}
	}
	if r.Place, err = file.find(ctx, *url); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the other programs: %w", err)
	}
	r.Region = e.Region
	programs := filepath.Dir(self)
	r.Load, r.Operator = filepath.Join(programs, "load"), filepath.Join(programs, "operator")
	if !r.Place.Local {
		r.Meter = &rehearse.CloudWatch{CLI: awscli.CLI{Region: e.Region}, Parts: r.Place.Parts, Stack: e.StackName, Settle: 3 * time.Minute}
	}
	return r.Run(ctx, out, complaints)
}
