package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// receiptTime bounds the recount.
const receiptTime = 5 * time.Minute

// recount is the result of the recount of a sale.
type recount struct {
	text         string
	made, broken bool
}

// receipt runs the operator program to recount the sale from the table, independently of
// this package's code.
func (o *options) receipt(ctx context.Context, t target) recount {
	if !t.system.Local && o.table == "" && o.env == "" {
		return recount{text: "no receipt: give the deployed table with TABLE=... (-table)"}
	}
	program := o.operator
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			return recount{text: "no receipt: " + err.Error(), broken: true}
		}
		program = filepath.Join(filepath.Dir(self), "operator")
	}
	args := []string{"-api-port", t.system.Port()}
	switch {
	case o.table != "":
		args = []string{"-table", o.table}
	case o.env != "":
		args = []string{"-env", o.env}
	}
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append(args, "receipt", "-sale", t.sale)...).CombinedOutput()
	b := recount{text: strings.TrimSpace(string(out)), made: err == nil}
	// A recount that fails counts as broken, too.
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		b.broken, b.made = true, exit.ExitCode() == 1
	case err != nil:
		b.broken, b.text = true, "no receipt: "+err.Error()
	}
	return b
}
