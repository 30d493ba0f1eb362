package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/infra/kit/client/webhook"
)

func TestASecretOfTheFolderReplacesAProvidersOwn(t *testing.T) {
	folder := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Stack{o: Options{Secrets: folder}}
	write(webhook.Alipay)
	got, err := s.secrets()
	if err != nil || got[secretARN+webhook.Alipay] != "mine" || got[secretARN+webhook.Adyen] != webhook.LocalSecrets[webhook.Adyen] {
		t.Errorf("got %q (%v), want alipay's replaced", got, err)
	}
	write("alipay.json")
	if _, err := s.secrets(); err == nil || !strings.Contains(err.Error(), `not "alipay.json"`) {
		t.Errorf("a file that is no provider's: %v", err)
	}
}
