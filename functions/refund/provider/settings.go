package provider

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/settings"
)

// The names of the providers, as in payments' ids.
const (
	Stripe    = "stripe"
	WeChatPay = "wechat-pay"
	Alipay    = "alipay"
	Adyen     = "adyen"
)

// Options are the same for all providers.
type Options struct {
	// BaseURL, if it is set, is a LocalURL that stands for the providers' hosts: "/stripe" in it and so on.
	BaseURL string
	Now     func() time.Time
	// NotifyURL is where WeChat Pay reports a refund; "" is where the account's settings say.
	NotifyURL string

	client *http.Client
}

// host returns where a provider is, without a slash at the end.
func (o *Options) host(provider, host string) string {
	if o.BaseURL != "" {
		return o.BaseURL + "/" + provider
	}
	return "https://" + host
}

var kinds = map[string]func(text string, o *Options) (Provider, error){
	Stripe: newStripe, WeChatPay: newWeChatPay, Alipay: newAlipay, Adyen: newAdyen,
}

// FromSecret makes the providers of RefundKeysArn's secret, by their names. Of one whose settings cannot be right there
// is an error in place of the provider, which quotes nothing of them; err is of the whole secret.
func FromSecret(secret string, o Options) (all map[string]Provider, wrong map[string]error, err error) {
	// A POST that follows a redirect may arrive twice.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.client = &http.Client{CheckRedirect: noRedirect}
	o.client.CloseIdleConnections() // they may have ended while the environment was frozen, and a request would be unknown
	var texts map[string]jsontext.Value
	if jsonv2.Unmarshal([]byte(secret), &texts) != nil {
		return nil, nil, errors.New("the secret is no JSON object with the names of providers")
	}
	all, wrong = map[string]Provider{}, map[string]error{}
	for name, text := range texts {
		err := errors.New("there is no such provider, or it cannot be asked to refund")
		if newOne := kinds[name]; newOne != nil {
			all[name], err = newOne(string(text), &o)
		}
		if err != nil {
			delete(all, name)
			wrong[name] = fmt.Errorf("RefundKeysArn, %s: %w", name, err)
		}
	}
	return all, wrong, nil
}

// LocalURL returns the address, without a slash at its end, if it is of this machine: requests there have the keys.
func LocalURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.String() != "http://"+u.Host ||
		!slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
		return "", errors.New("it is not http://127.0.0.1:PORT, http://[::1]:PORT or http://localhost:PORT")
	}
	return u.String(), nil
}

// isKey fails for a text that is no API key. Adyen's have quotation marks and commas, which settings.IsText refuses.
func isKey(text string) error {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' }) {
		return errors.New("it is empty, or has a blank, a line break or a character that is not printable ASCII")
	}
	return nil
}

// privateKey returns the key of a PEM file, or of what stands between its first and its last line. PKCS #1 is what
// Alipay's tool also makes. The provider's public keys must be others, or no answer would ever verify.
func privateKey(text string, theirs []*rsa.PublicKey) (*rsa.PrivateKey, error) {
	der, _ := base64.StdEncoding.DecodeString(text)
	if block, rest := pem.Decode([]byte(text)); block != nil && strings.TrimSpace(string(rest)) == "" {
		der = block.Bytes
	}
	one, wrong := x509.ParsePKCS8PrivateKey(der)
	key, isRSA := one.(*rsa.PrivateKey)
	if wrong != nil {
		key, wrong = x509.ParsePKCS1PrivateKey(der)
		isRSA = wrong == nil
	}
	if !isRSA || key.N.BitLen() < settings.MinRSA {
		return nil, fmt.Errorf("privateKey: it is no private key of RSA with %d bits or more, not encrypted: a PEM file, "+
			"or what stands between its first and its last line", settings.MinRSA)
	}
	if slices.ContainsFunc(theirs, func(their *rsa.PublicKey) bool { return key.PublicKey.Equal(their) }) {
		return nil, errors.New("publicKeys: one is of the privateKey, not the provider's own")
	}
	return key, nil
}

// sign returns the key's signature of a text, in base64. A key that privateKey has read signs.
func sign(key *rsa.PrivateKey, text string) string {
	digest := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	return base64.StdEncoding.EncodeToString(signature)
}

// verifies reports whether that is the key's signature of the text.
func verifies(key *rsa.PublicKey, text, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	digest := sha256.Sum256([]byte(text))
	return err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], raw) == nil
}
