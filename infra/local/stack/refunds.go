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
	s.providers, err = providers.Open(providers.Options{API: s.API, Secrets: named, Path: filepath.Join(s.o.Data, "providers.json"), Now: time.Now})
	if err != nil {
		return fmt.Errorf("start payment providers: %w", err)
	}
	s.onStop(s.providers.Save)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.Providers = address(l)
	// Who does not know the path cannot read the secret, as on AWS no other role can.
	path, mux := "/"+rand.Text(), http.NewServeMux()
	s.secretsManager = s.Providers + path
	mux.HandleFunc("POST "+path, s.getSecretValue)
	mux.Handle("/", s.providers)
	s.serve(l, mux, loopback.Rules{})
	s.keep(s.providers.Run)
	return nil
}

// getSecretValue is the call of Secrets Manager of that name. A file of the secret may be replaced while the stack runs.
func (s *Stack) getSecretValue(w http.ResponseWriter, r *http.Request) {
	var asked struct{ SecretId string }
	_ = json.NewDecoder(r.Body).Decode(&asked)
	all, err := s.secrets()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if err != nil || asked.SecretId != secretARN+refundKeys || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"ResourceNotFoundException","Message":"Secrets Manager can't find the specified secret."}`))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"ARN": asked.SecretId, "Name": refundKeys, "SecretString": all[asked.SecretId]})
}
