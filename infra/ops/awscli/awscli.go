// Package awscli runs the AWS CLI, for services whose SDK package is not used here.
package awscli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// timeLimit bounds one call.
const timeLimit = time.Minute

// CLI is the AWS CLI for one region.
type CLI struct {
	Region  string // empty: from the environment
	Program string // empty: aws
}

// Read makes one call, such as "sts", "get-caller-identity", and decodes its JSON. An error
// includes the program's complaint.
func (c CLI) Read(ctx context.Context, answer any, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	program := exec.CommandContext(ctx, cmp.Or(c.Program, "aws"), arguments...)
	if c.Region != "" {
		program.Args = append(program.Args, "--region", c.Region)
	}
	program.Env = append(os.Environ(), "AWS_PAGER=", "AWS_DEFAULT_OUTPUT=json")
	var complaint bytes.Buffer
	program.Stderr = &complaint
	out, err := program.Output()
	if err == nil {
		err = json.Unmarshal(out, answer)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("the AWS CLI, aws, is not in PATH, and what is on AWS is found with it: https://aws.amazon.com/cli")
	}
	if err != nil {
		words := strings.Join(strings.Fields(complaint.String()), " ")
		if noAccess.MatchString(words) {
			words += "; sign in, such as by `aws sso login`, or set AWS_PROFILE"
		}
		return fmt.Errorf("run aws %s: %w: %s", strings.Join(arguments, " "), err, words)
	}
	return nil
}

// noAccess matches complaints of credentials that are missing, expired or wrong.
var noAccess = regexp.MustCompile(`locate credentials|ExpiredToken|has expired|InvalidClientTokenId|UnrecognizedClient`)
