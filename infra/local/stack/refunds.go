package stack

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"flashsale/infra/local/loopback"
	"flashsale/infra/local/providers"
)

// startProviders starts the payment providers, which give payments back, and the part of Secrets Manager that has the keys
// of who asks them.
func (s *Stack) startProviders() error {
	all, err := s.secrets()
	if err != nil {
		return err
	}
	named := map[string]string{}
	for arn, secret := range all {
		named[strings.TrimPrefix(arn, secretARN)] = secret
	}
	s.providers, err = providers.Open(providers.Options{
		API: s.API, Secrets: named, Path: filepath.Join(s.o.Data, "providers.jsonl"), Seed: s.given.Seed, Now: time.Now, Log: s.o.Log,
	})
	if err != nil {
		return fmt.Errorf("start payment providers: %w", err)
	}
	s.onStop(s.providers.Save)
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	s.Providers = address(listeners[0])
	s.serve(listeners[0], s.providers, loopback.Rules{})
	s.keep(s.providers.Run)
	// Who does not know the path cannot read the secret, as on AWS no other role can.
	path := "/" + rand.Text()
	s.secretsManager = address(listeners[1]) + path
	manager := http.NewServeMux()
	manager.HandleFunc("POST "+path, s.getSecretValue)
	s.serve(listeners[1], manager, loopback.Rules{})
	return nil
}

// getSecretValue is the call of Secrets Manager of that name. A file of the secret may be replaced while the stack runs.
func (s *Stack) getSecretValue(w http.ResponseWriter, r *http.Request) {
	var asked struct{ SecretId string }
	all, err := s.secrets()
	secret, known := "", false
	if err == nil && json.NewDecoder(r.Body).Decode(&asked) == nil {
		secret, known = all[asked.SecretId]
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if !known || asked.SecretId != secretARN+refundKeys || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"ResourceNotFoundException","Message":"Secrets Manager can't find the specified secret."}`))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"ARN": asked.SecretId, "Name": refundKeys, "SecretString": secret, "VersionId": "00000000-0000-0000-0000-000000000001",
		"VersionStages": []string{"AWSCURRENT"}, "CreatedDate": float64(s.began.Unix()),
	})
}
