package security

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/stack"
	"flashsale/infra/local/template"
)

// patience bounds every wait.
const patience = 60 * time.Second

// audience is the audience of the local stack's tokens.
const audience = "flashsale-local"

// system is a running stack, with access to the issuer's key.
type system struct {
	*stack.Stack
	data   string
	key    *rsa.PrivateKey
	routes []template.Route
	client *client.Client
	own    *safeBuffer // the stack's own log

	mu      sync.Mutex
	secrets map[string]bool // parts of every token made
}

// safeBuffer is a buffer that is safe for concurrent use.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var (
	sharedOnce sync.Once
	sharedOne  *system
	errShared  error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if sharedOne != nil {
		if err := sharedOne.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the stack:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared returns the stack of the whole package. When the test ends, nothing logged
// meanwhile may contain a token.
func shared(t *testing.T) *system {
	t.Helper()
	root := rootOf(t)
	sharedOnce.Do(func() { sharedOne, errShared = start(root, stack.Options{NoPollers: true}) })
	if errShared != nil {
		t.Fatalf("%v (make host builds what the stack runs)", errShared)
	}
	s := sharedOne
	from := s.mark()
	t.Cleanup(func() { s.sweep(t, from) })
	return s
}

// rootOf is the project's folder.
func rootOf(t *testing.T) string {
	t.Helper()
	return enginetest.Root(t)
}

// own returns a stack for this test only.
func own(t *testing.T, root string, o stack.Options) *system {
	t.Helper()
	s, err := start(root, o)
	if err != nil {
		t.Fatalf("%v (make host builds what the stack runs)", err)
	}
	t.Cleanup(func() {
		s.sweep(t, 0)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start boots a stack on free ports, with one process per function, so that the output
// is in the order of the invocations.
func start(root string, o stack.Options) (s *system, err error) {
	s = &system{own: &safeBuffer{}, secrets: map[string]bool{}}
	if s.data, err = os.MkdirTemp("", "flashsale-security-"); err != nil {
		return nil, err
	}
	o.Root, o.Data, o.Processes, o.Log = root, s.data, 1, slog.New(slog.NewTextHandler(s.own, nil))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.Stack, err = stack.Start(ctx, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.data))
	}
	s.client = client.New(s.API, client.Options{
		Lambda: s.Lambda, Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true, ResponseHeaderTimeout: patience},
	})
	parameters := map[string]string{"JwtIssuer": s.issuer(), "JwtAudience": audience}
	maps.Copy(parameters, o.Parameters)
	described, err := template.Load(filepath.Join(root, "template.yaml"), template.Options{Parameters: parameters})
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.routes = described.API.Routes
	if err := s.learnKey(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *system) stop() error {
	s.client.Close()
	return errors.Join(s.Stop(), os.RemoveAll(s.data))
}

func (s *system) issuer() string { return s.API + "/_local" }

// learnKey reads the private key from the stack's folder.
func (s *system) learnKey() error {
	text, err := os.ReadFile(filepath.Join(s.data, "issuer-key.pem"))
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("read issuer key: no PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return fmt.Errorf("read issuer key: %w", err)
	}
	s.key = parsed.(*rsa.PrivateKey)
	return nil
}
