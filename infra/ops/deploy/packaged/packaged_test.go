package packaged

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestAPackagedTemplateDiffersOnlyInWhereItsFilesAre(t *testing.T) {
	own, err := os.ReadFile("../../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, functions := string(Template(own)), regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::Serverless::Function\n`).FindAllSubmatch(own, -1)
	want := map[string]int{"CodeUri": len(functions), "CodeUri: .\n": 0, "BuildMethod": 0, ": infra/": 0}
	for _, f := range functions {
		want["\n      CodeUri: "+string(f[1])+".zip\n"] = 1
	}
	for word, want := range want {
		if got := strings.Count(text, word); got != want || len(functions) == 0 {
			t.Errorf("it has %q %d times, want %d", word, got, want)
		}
	}
	if string(Template([]byte(text))) != text {
		t.Error("that of a release is changed once more")
	}
}
