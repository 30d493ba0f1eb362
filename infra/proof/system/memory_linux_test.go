package system

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
	"flashsale/infra/local/launch"
)

func TestAStackInMemorySurvivesItsEngineAndForgetsEverythingAtItsEnd(t *testing.T) {
	t.Parallel()
	const saleID = "in-memory"
	s, err := launch.New(launch.Built(project), "", "-root", project)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(s.API, client.Options{Lambda: s.Lambda})
	defer c.Close()
	start := func() (folder string) {
		t.Helper()
		if err := s.StartWithin(time.Minute); err != nil {
			t.Fatal(err)
		}
		var health struct{ Events string }
		a, err := c.Send(t.Context(), http.MethodGet, "/_local/health", "")
		if err != nil || json.Unmarshal(a.Body, &health) != nil {
			t.Fatalf("%v, %v", a, err)
		}
		return filepath.Dir(health.Events)
	}
	first := start()
	defer s.Kill()
	if err := c.Seed(t.Context(), client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), Stock: 1, Shards: 1}); err != nil {
		t.Fatal(err)
	}
	token, err := c.Token(t.Context(), "ada")
	if a, failed := c.Buy(t.Context(), saleID, token, ""); err != nil || failed != nil || a.Status != http.StatusAccepted {
		t.Fatalf("%v, %v, %v", a, err, failed)
	}
	killEngine(t, s.Pid())
	wait.Until(t, patience, "the claim is there after the engine was killed", func() bool {
		a, err := c.Mine(t.Context(), saleID, token)
		return err == nil && a.Status == http.StatusOK
	})

	s.Kill()
	second := start()
	if a, err := c.Sale(t.Context(), saleID); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("a stack that starts after it knows its sale: %v, %v", a, err)
	}
	if err := s.Stop(time.Minute); err != nil {
		t.Error(err)
	}
	for _, folder := range []string{first, second} {
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is still there", folder)
		}
	}
}
