package providers

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"

	"flashsale/infra/kit/client/webhook"
)

// keys are what the providers know of the shop, and sign notifications by.
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

	apiV3Key, seller, hmac string // the first ones, "" for none
}

// key is the public half of the shop's private key.
type key struct{ *rsa.PublicKey }

func (k *key) UnmarshalText(text []byte) error {
	der, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err == nil {
		k.PublicKey = &private.(*rsa.PrivateKey).PublicKey
	}
	return err
}

func (k key) verifies(text, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	digest := sha256.Sum256([]byte(text))
	return err == nil && rsa.VerifyPKCS1v15(k.PublicKey, crypto.SHA256, digest[:], raw) == nil
}

// read reads what the shop asks with, and the secrets by which the API verifies notifications.
func (k *keys) read(secrets map[string]string) error {
	err := json.Unmarshal([]byte(webhook.LocalRefundKeys), k)
	for provider, of := range map[string]*string{webhook.WeChatPay: &k.apiV3Key, webhook.Alipay: &k.seller, webhook.Adyen: &k.hmac} {
		var set struct{ APIv3Keys, SellerIDs, HMACKeys []string }
		_ = json.Unmarshal([]byte(secrets[provider]), &set) // what is wrong, PayFunction says
		if all := append(append(set.APIv3Keys, set.SellerIDs...), set.HMACKeys...); len(all) > 0 {
			*of = all[0]
		}
	}
	return err
}

// newID is an id of the form that a provider gives to its refunds.
func newID(provider string) string {
	switch provider {
	case webhook.Stripe:
		return "re_" + rand.Text()[:24]
	case webhook.WeChatPay:
		return fmt.Sprintf("5030000%018d", mathrand.Int64N(1e18))
	}
	return rand.Text()[:16]
}
