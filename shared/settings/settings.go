// Package settings reads the secrets and the settings of payment providers, and says what is wrong with one without
// quoting it.
package settings

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// MaxKeys is how many keys of one kind a provider may have: each may be tried before a webhook is refused.
const MaxKeys = 10

// Whsec is how the signing secrets of Stripe and Standard Webhooks begin.
const Whsec = "whsec_"

// Listed returns the secrets of a text with commas between them.
func Listed(text string) []string {
	all := strings.Split(text, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// Read reads the settings of a provider that needs more than signing secrets: JSON with exactly
// the members of T. An error has their names, and quotes nothing.
func Read[T any](text string) (set T, _ error) {
	err := jsonv2.Unmarshal([]byte(text), &set, jsonv2.RejectUnknownMembers(true))
	switch {
	case err == nil:
		return set, nil
	case strings.HasPrefix(text, byteOrderMark):
		return set, errByteOrderMark
	}
	form, err := jsonv2.Marshal(*new(T))
	return set, errors.Join(err, fmt.Errorf("it is not JSON of the form %s, which HTTP.md describes", form))
}

const byteOrderMark = "\ufeff"

var errByteOrderMark = errors.New("it begins with a byte order mark")

// IsText fails for a text that is no key, id or name of any provider. The error does not quote it.
func IsText(text string) error {
	switch {
	case text == "":
		return errors.New("it is empty")
	case strings.HasPrefix(text, byteOrderMark):
		return errByteOrderMark
	case strings.ContainsAny(text, " \t\r\n\v\f"):
		return errors.New("it has a blank or a line break")
	case strings.ContainsAny(text, "\"'`\\,"):
		return errors.New("it has a quotation mark, a backslash or a comma")
	case strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' }):
		return errors.New("it has a character that is not printable ASCII")
	}
	return nil
}

// Characters of Form.
const (
	Digits  = "0123456789"
	Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Check checks a list of the settings, which must not be empty. The error says which element is wrong, and quotes none.
func Check(list string, all []string, right func(string) error) error {
	if len(all) == 0 {
		return fmt.Errorf("%s has none", list)
	}
	for i, text := range all {
		err := right(text)
		switch {
		case err != nil && len(all) == 1:
			return fmt.Errorf("%s: %w", list, err)
		case err != nil:
			return fmt.Errorf("%s, number %d of %d: %w", list, i+1, len(all), err)
		}
	}
	return nil
}

// CheckKeys is check of a list of keys, of which no provider has many.
func CheckKeys(list string, all []string, right func(string) error) error {
	if len(all) > MaxKeys {
		return fmt.Errorf("%s has more than %d", list, MaxKeys)
	}
	return Check(list, all, right)
}

// Form returns the check of a text that has no characters but these, else it says what it is not.
func Form(characters, what string) func(string) error {
	return func(text string) error {
		if err := IsText(text); err != nil {
			return err
		}
		if strings.Trim(text, characters) != "" {
			return errors.New("it is not " + what)
		}
		return nil
	}
}

// MinRSA is the least size of a key of RSA, in bits.
const MinRSA = 2048

// RSAKey returns the public key of a text: what stands between the first and the last line of its PEM file, with or
// without line breaks. Lambda's whole environment has 4 KB, so certificates are too long.
func RSAKey(text string) (*rsa.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(text) // which passes over line breaks
	if err != nil {
		return nil, errors.New("it is not valid base64: of a PEM file it is what stands between the first and the last line")
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("it is %s, not one of a PEM file's PUBLIC KEY", kindOf(der))
	}
	public, isRSA := key.(*rsa.PublicKey)
	if !isRSA || public.N.BitLen() < MinRSA {
		return nil, fmt.Errorf("it is not a public key of RSA with %d bits or more", MinRSA)
	}
	return public, nil
}

// WeChatPayKeys returns the public keys of a member of the settings, by the Wechatpay-Serial that names them, in
// capitals: the id of a public key, PUB_KEY_ID_…, or a platform certificate's serial number in hexadecimal.
func WeChatPayKeys(list string, texts map[string]string) (map[string]*rsa.PublicKey, error) {
	keys := map[string]*rsa.PublicKey{}
	return keys, CheckKeys(list, slices.Sorted(maps.Keys(texts)), func(serial string) error {
		err := IsText(serial)
		name, isKeyID := strings.CutPrefix(serial, "PUB_KEY_ID_")
		upper := strings.ToUpper(serial)
		switch {
		case err != nil:
			return fmt.Errorf("of its name: %w", err)
		case name == "" || isKeyID && strings.Trim(name, Digits+Letters) != "",
			!isKeyID && strings.Trim(upper, Digits+"ABCDEF") != "":
			return errors.New("its name is neither PUB_KEY_ID_… nor a serial number in hexadecimal, alone")
		case keys[upper] != nil:
			return errors.New("its serial number is there twice")
		}
		keys[upper], err = RSAKey(texts[serial])
		return err
	})
}

// kindOf says what was given for a public key.
func kindOf(der []byte) string {
	if _, err := x509.ParseCertificate(der); err == nil {
		return "a certificate"
	}
	if _, err := x509.ParsePKCS1PublicKey(der); err == nil {
		return "one of a PEM file's RSA PUBLIC KEY"
	}
	_, notPKCS1 := x509.ParsePKCS1PrivateKey(der)
	if _, err := x509.ParsePKCS8PrivateKey(der); err == nil || notPKCS1 == nil {
		return "a private key"
	}
	return "no key, or a part of one"
}
