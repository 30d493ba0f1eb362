// Package awscli runs the AWS CLI, for services whose SDK package is not used here.
package awscli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// timeLimit bounds one call.
const timeLimit = time.Minute

// CLI is the AWS CLI for one region.
type CLI struct {
	Region string // empty: from the environment
}

// Read makes one call, such as "sts", "get-caller-identity", and decodes its JSON. An error
// includes the program's complaint.
func (c CLI) Read(ctx context.Context, answer any, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	program := exec.CommandContext(ctx, "aws", arguments...)
	if region := cmp.Or(c.Region, os.Getenv("AWS_REGION")); region != "" { // which the SDK reads, and some CLIs do not
		program.Args = append(program.Args, "--region", region)
	}
	program.Env = append(os.Environ(), "AWS_PAGER=", "AWS_DEFAULT_OUTPUT=json")
	var complaint bytes.Buffer
	program.Stderr = &complaint
	out, err := program.Output()
	if err == nil {
		err = json.Unmarshal(out, answer)
	}
	if err != nil {
		err = cmp.Or(ctx.Err(), err) // rather than that it was killed
		return fmt.Errorf("run aws %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return nil
}
