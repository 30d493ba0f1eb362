#!/bin/bash
# Is the money back? A refund's notification of WeChat Pay, read by WeChat Pay's own library for Go.
#
# One would guess: what notify.Handler decrypts into refunddomestic.Refund, the library's type of a refund, has the status that the
# notification is about. It is so: the notification names it refund_status (pay.weixin.qq.com, doc/v3/merchant/4012791865), the type
# status, as the answer to a question does. Handler verifies, decrypts and gives no error, and Status is nil, for a refund that
# succeeded as for one that was closed: who takes no failure for success is wrong. All else is there. Such a Refund cannot be written as JSON
# either, as into a queue or a log. No type of the library has the field, so a shop needs a type of its own, and asking again has the status.
#
# Needs Go 1.25 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0

cat >main.go <<'EOF2'
package main

import (
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/wechatpay-apiv3/wechatpay-go/core/auth/verifiers"
	"github.com/wechatpay-apiv3/wechatpay-go/core/notify"
	"github.com/wechatpay-apiv3/wechatpay-go/services/refunddomestic"
)

const (
	apiV3Key = "0123456789abcdef0123456789abcdef"
	keyID    = "PUB_KEY_ID_0116500000002024101100397200000006"
	resource = `{"mchid":"1900000109","transaction_id":"4200000000202611290000000042","out_trade_no":"523415642750058497",` +
		`"refund_id":"50200000002026112900000000042","out_refund_no":"flashsale-42","refund_status":"STATUS",` +
		`"user_received_account":"支付用户零钱","amount":{"total":149900,"refund":149900,"payer_total":149900,"payer_refund":149900}}`
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return v
}

// notification is a request as WeChat Pay sends it.
func notification(key *rsa.PrivateKey, event, text string) *http.Request {
	gcm := must(cipher.NewGCM(must(aes.NewCipher([]byte(apiV3Key)))))
	nonce := "fdasflkja484"
	sealed := base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), []byte(text), []byte("refund")))
	body := string(must(json.Marshal(map[string]any{
		"id": "EV-42", "create_time": "2026-11-29T16:00:00+08:00", "resource_type": "encrypt-resource", "event_type": event, "summary": "退款",
		"resource": map[string]any{
			"original_type": "refund", "algorithm": "AEAD_AES_256_GCM", "ciphertext": sealed, "associated_data": "refund", "nonce": nonce,
		},
	})))
	at := fmt.Sprint(time.Now().Unix())
	sum := sha256.Sum256([]byte(at + "\nn\n" + body + "\n"))
	signature := must(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))
	r := must(http.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(body)))
	for name, value := range map[string]string{
		"Wechatpay-Timestamp": at, "Wechatpay-Nonce": "n", "Wechatpay-Serial": keyID, "Request-ID": "1",
		"Wechatpay-Signature": base64.StdEncoding.EncodeToString(signature), "Wechatpay-Signature-Type": "WECHATPAY2-SHA256-RSA2048",
	} {
		r.Header.Set(name, value)
	}
	return r
}

func main() {
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	h := must(notify.NewRSANotifyHandler(apiV3Key, verifiers.NewSHA256WithRSAPubkeyVerifier(keyID, key.PublicKey)))
	for _, status := range []string{"SUCCESS", "CLOSED"} {
		var refund refunddomestic.Refund
		r, err := h.ParseNotifyRequest(context.Background(), notification(key, "REFUND."+status, strings.Replace(resource, "STATUS", status, 1)), &refund)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s, refund %d, status %v\n", r.EventType, *refund.OutRefundNo, *refund.Amount.Refund, refund.Status)
		_, err = json.Marshal(refund)
		fmt.Println("written as JSON:", err == nil)
	}
}
EOF2
{ go mod init try && go get github.com/wechatpay-apiv3/wechatpay-go@v0.2.21 && go mod tidy; } >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/wechatpay-apiv3/wechatpay-go; go run .; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/wechatpay-apiv3/wechatpay-go v0.2.21
REFUND.SUCCESS: flashsale-42, refund 149900, status <nil>
written as JSON: false
REFUND.CLOSED: flashsale-42, refund 149900, status <nil>
written as JSON: false
EOF2
)
