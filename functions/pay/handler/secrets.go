package handler

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// secretsOf returns the secrets of a variable's text. An error does not quote them.
func secretsOf(text string) ([]string, error) {
	all := strings.Split(text, ",")
	for i, secret := range all {
		all[i] = strings.TrimSpace(secret)
		if rest, ok := strings.CutPrefix(all[i], "whsec_"); !ok || len(rest) < minSecret {
			return nil, fmt.Errorf("a secret is whsec_ and at least %d characters", minSecret)
		}
	}
	return all, nil
}

// minSecret is the least length of a secret, in characters after its prefix.
const minSecret = 12

// readSettings reads the settings of a provider that needs more than signing secrets: JSON with exactly
// the members of T. An error has their names, and quotes nothing.
func readSettings[T any](text string) (set T, _ error) {
	if jsonv2.Unmarshal([]byte(text), &set, jsonv2.RejectUnknownMembers(true)) == nil {
		return set, nil
	}
	form, err := jsonv2.Marshal(*new(T))
	return set, errors.Join(err, fmt.Errorf("it is not JSON of the form %s, which HTTP.md describes", form))
}

// minRSA is the least size of a public key, in bits.
const minRSA = 2048

// rsaKey returns the public key of a text: what stands between the first and the last line of its PEM file, with or
// without line breaks. Lambda's whole environment has 4 KB, so certificates are too long.
func rsaKey(text string) (*rsa.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(text) // which passes over line breaks
	if err != nil {
		return nil, errors.New("a public key is not valid base64")
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("a public key is not one of a PEM file's PUBLIC KEY")
	}
	public, isRSA := key.(*rsa.PublicKey)
	if !isRSA || public.N.BitLen() < minRSA {
		return nil, fmt.Errorf("a public key is not one of RSA with %d bits or more", minRSA)
	}
	return public, nil
}
