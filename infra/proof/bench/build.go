package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

var errFunction = errors.New("the function failed")

// goBuild builds a program as the Makefile builds a function, for this machine or, if
// arch is given, for Linux on arch.
func goBuild(ctx context.Context, root, pkg, to, arch string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc", "-ldflags=-s", "-o", to, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if arch != "" {
		cmd.Env = append(cmd.Env, "GOOS=linux", "GOARCH="+arch)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %.500s", pkg, err, text)
	}
	return nil
}

// zipSizes returns the sizes of the deployment packages for arm64.
func zipSizes(ctx context.Context, root, dir string) (lines []string, err error) {
	for _, name := range []string{"purchase", "finalize", "query", "seed", "reconcile", "release", "page", "pay", "bare"} {
		pkg := "./functions/" + name
		if name == "bare" {
			pkg = "./infra/proof/bench/bare"
		}
		bootstrap := filepath.Join(dir, name+"-bootstrap")
		if err := goBuild(ctx, root, pkg, bootstrap, "arm64"); err != nil {
			return nil, err
		}
		size, err := zipSize(bootstrap)
		if err != nil {
			return nil, fmt.Errorf("zip %s: %w", name, err)
		}
		lines = append(lines, fmt.Sprintf("zip %s MiB=%.2f", name, float64(size)/(1<<20)))
	}
	return lines, nil
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func zipSize(file string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var size counter
	z := zip.NewWriter(&size)
	w, err := z.Create("bootstrap")
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(w, f); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	return int64(size), nil
}
