package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryEventBelongsToAFunction(t *testing.T) {
	files, err := filepath.Glob("*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d events: %v", len(files), err)
	}
	for _, file := range files {
		function, _, _ := strings.Cut(strings.TrimSuffix(file, ".json"), "-")
		if _, err := os.Stat(filepath.Join("../functions", function, "handler", "handler.go")); err != nil {
			t.Errorf("%s: no function is called %q", file, function)
		}
		tests, _ := filepath.Glob(filepath.Join("../functions", function, "handler", "*_test.go"))
		if !slices.ContainsFunc(append(tests, "fill_test.go"), func(test string) bool {
			text, err := os.ReadFile(test)
			return err == nil && bytes.Contains(text, []byte(`"`+file+`"`))
		}) {
			t.Errorf("%s: no test runs it", file)
		}
	}
}
