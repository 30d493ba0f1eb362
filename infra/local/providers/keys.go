package providers

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
)

// keys are what the shop asks with.
type keys struct {
	Stripe    struct{ SecretKey string }
	WeChatPay struct {
		MchID, Serial string
		PrivateKey    key
		PublicKeys    map[string]string // by id: the one of WeChat Pay, which signs answers
	} `json:"wechat-pay"`
	Alipay struct {
		AppID      string
		PrivateKey key
	}
	Adyen struct{ APIKey, MerchantAccount string }
}

// key is a private key of the shop, as PKCS #8.
type key []byte

func (k key) verifies(text, signature string) bool {
	private, err := x509.ParsePKCS8PrivateKey(k)
	raw, noText := base64.StdEncoding.DecodeString(signature)
	digest := sha256.Sum256([]byte(text))
	return err == nil && noText == nil &&
		rsa.VerifyPKCS1v15(&private.(*rsa.PrivateKey).PublicKey, crypto.SHA256, digest[:], raw) == nil
}

// signing is the first key by which a provider signs notifications, "" if it has none: what is wrong with a secret, PayFunction says.
func (p *Providers) signing(provider string) string {
	var set struct{ APIv3Keys, HMACKeys []string }
	_ = json.Unmarshal([]byte(p.o.Secrets[provider]), &set)
	return append(append(set.APIv3Keys, set.HMACKeys...), "")[0]
}
