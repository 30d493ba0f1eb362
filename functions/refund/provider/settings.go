package provider

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	// BaseURL, if it is set, stands for the providers' hosts: "/stripe" in it and so on, see LocalURL.
	BaseURL string
	Now     func() time.Time
	// Client makes the calls; nil is http.DefaultClient. It follows no redirect, whatever it says.
	Client *http.Client
}

// host returns where a provider is, without a slash at the end.
func (o *Options) host(provider, host string) string {
	if o.BaseURL != "" {
		return o.BaseURL + "/" + provider
	}
	return "https://" + host
}

// FromSecret makes the providers of RefundKeysArn's secret, by their names. Of one whose settings cannot be right there
// is an error in place of the provider, which quotes nothing of them; err is of the whole secret, or of the options.
func FromSecret(secret string, o Options) (all map[string]Provider, wrong map[string]error, err error) {
	if o.BaseURL != "" {
		if o.BaseURL, err = LocalURL(o.BaseURL); err != nil {
			return nil, nil, err
		}
	}
	o.Client = fixed(o.Client)
	o.Client.CloseIdleConnections() // they may have ended while the environment was frozen, and a request would be unknown
	var texts map[string]jsontext.Value
	if jsonv2.Unmarshal([]byte(secret), &texts) != nil {
		return nil, nil, errors.New("the secret is no JSON object with the names of providers")
	}
	all, wrong = map[string]Provider{}, map[string]error{}
	for name, text := range texts {
		provider, err := newProvider(name, string(text), &o)
		if err != nil {
			wrong[name] = fmt.Errorf("RefundKeysArn, %s: %w", name, err)
			continue
		}
		all[name] = provider
	}
	return all, wrong, nil
}

func newProvider(name, text string, o *Options) (Provider, error) {
	switch name {
	case Stripe:
		return newStripe(text, o)
	case WeChatPay:
		return newWeChatPay(text, o)
	case Alipay:
		return newAlipay(text, o)
	case Adyen:
		return newAdyen(text, o)
	}
	return nil, errors.New("there is no such provider, or it cannot be asked to refund")
}

// LocalURL returns the address, without a slash at its end, if it is of this machine: requests there have the keys.
func LocalURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.String() != "http://"+u.Host {
		return "", errNotLocal
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	if u.Hostname() != "localhost" && ip != netip.IPv6Loopback() && ip != netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
		return "", errNotLocal
	}
	return u.String(), nil
}

var errNotLocal = errors.New("the address of local providers is not http://127.0.0.1:PORT, http://[::1]:PORT or " +
	"http://localhost:PORT")

// isKey fails for a text that is no API key. Adyen's have quotation marks and commas, which settings.IsText refuses.
func isKey(text string) error {
	switch {
	case text == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' }):
		return errors.New("it has a blank, a line break or a character that is not printable ASCII")
	}
	return nil
}

// minRSA is the least size of a private key, in bits.
const minRSA = 2048

// privateKey returns the key of a PEM file, or of what stands between its first and its last line. PKCS #1 is what
// Alipay's tool also makes.
func privateKey(text string) (*rsa.PrivateKey, error) {
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
	if !isRSA || key.N.BitLen() < minRSA {
		return nil, fmt.Errorf("privateKey: it is no private key of RSA with %d bits or more, not encrypted: a PEM file, "+
			"or what stands between its first and its last line", minRSA)
	}
	return key, nil
}

// isOther fails if one of the provider's public keys is the merchant's: no answer would ever verify.
func isOther(own *rsa.PrivateKey, theirs []*rsa.PublicKey) error {
	if own != nil && slices.ContainsFunc(theirs, func(key *rsa.PublicKey) bool { return own.PublicKey.Equal(key) }) {
		return errors.New("publicKeys: one is of the privateKey, not the provider's own")
	}
	return nil
}
