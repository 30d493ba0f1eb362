package launch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/child"
)

// TestMain also acts as the stack, which prints its arguments and ends.
func TestMain(m *testing.M) {
	if os.Getenv("LAUNCH_TEST_STACK") != "" {
		os.Stdout.WriteString(strings.Join(os.Args[1:], " ") + "\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAStackHasPortsAndDataOfItsOwn(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LAUNCH_TEST_STACK", "1")
	s, err := New(program, "somewhere", "-sqs-port", "0")
	if err != nil {
		t.Fatal(err)
	}
	var said child.Tail
	s.Command.Output = &said
	if err := s.Start(t.Context()); !errors.Is(err, child.ErrEnded) {
		t.Errorf("%v, want %v", err, child.ErrEnded)
	}
	address := func(flag string) string {
		words := strings.Fields(said.String())
		i := slices.Index(words, flag)
		if i < 0 {
			t.Fatalf("no %s in %q", flag, words)
		}
		return "http://127.0.0.1:" + words[i+1]
	}
	if address("-api-port") != s.API || address("-lambda-port") != s.Lambda || address("-dynamodb-port") != s.DynamoDB || address("-sqs-port") != s.SQS {
		t.Errorf("%+v was started with %s", s, &said)
	}
	if text := said.String(); !strings.Contains(text, "-data somewhere") || !strings.HasSuffix(text, " -sqs-port 0\n") {
		t.Errorf("started with %s", text)
	}
	if err := s.Stop(time.Second); err != nil {
		t.Error(err)
	}
}

func TestAStackThatIsNotBuiltSaysHowToBuildIt(t *testing.T) {
	if _, err := New(Built(t.TempDir()), filepath.Join(t.TempDir(), "data")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make host") {
		t.Errorf("%v", err)
	}
}
