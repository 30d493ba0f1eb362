package packaged

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/infra/ops/deploy/preflight"
)

func TestAPackagedTemplateDiffersOnlyInWhereItsFilesAre(t *testing.T) {
	file := filepath.Join("..", "..", "..", "..", "template.yaml")
	own, err := os.ReadFile(file)
	made := filepath.Join(t.TempDir(), "template.yaml")
	text := string(Template(own))
	if err := errors.Join(err, os.WriteFile(made, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	functions := 0
	for _, path := range []string{file, made} {
		template, err := preflight.Read(path, "", map[string]string{"PublishEvents": "true"})
		if err != nil {
			t.Fatal(err)
		}
		all := template.OfType("AWS::Serverless::Function")
		functions = len(all)
		for _, f := range all {
			if strings.Count(text, "\n      CodeUri: "+f.ID+".zip\n") != 1 {
				t.Errorf("%s has not its own zip", f.ID)
			}
		}
	}
	for word, want := range map[string]int{"CodeUri": functions, "CodeUri: .\n": 0, "BuildMethod": 0, ": infra/": 0} {
		if got := strings.Count(text, word); got != want || functions == 0 {
			t.Errorf("it has %q %d times, want %d", word, got, want)
		}
	}
	if string(Template([]byte(text))) != text {
		t.Error("that of a release is changed once more")
	}
}
