// Command shop is an example of a shop's own payment page: it trusts the signed link, asks for the
// address, takes the money (here none) and reports the payment. Its argument is the address of
// flashsale; the defaults fit the local stack, to which it also plays the payment providers. A shop starts from a copy of
// shop.go.
package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run() error {
	webhook, err := standardwebhooks.NewWebhook(cmp.Or(os.Getenv("WEBHOOK_SECRET"), "whsec_bG9jYWwtZmxhc2hzYWxlLXdlYmhvb2stc2VjcmV0"))
	if err != nil {
		return fmt.Errorf("read WEBHOOK_SECRET: %w", err)
	}
	addresses, err := os.OpenFile(cmp.Or(os.Getenv("ADDRESSES"), ".build/addresses.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open ADDRESSES: %w", err)
	}
	flashsale := cmp.Or(append(os.Args[1:], "http://127.0.0.1:3000")...)
	back, err := url.Parse(cmp.Or(os.Getenv("BACK"), flashsale+"/s/"))
	if err != nil || back.Host == "" {
		return fmt.Errorf("read BACK: %q is no address such as http://127.0.0.1:3004/?sale=, to which a sale's id is appended", os.Getenv("BACK"))
	}
	s := &shop{
		flashsale: flashsale, back: back, webhook: webhook, addresses: addresses, now: time.Now,
		keys:   strings.Split(cmp.Or(os.Getenv("PAYMENT_LINK_KEYS"), "local-payment-link-key-of-32-bytes"), ","),
		client: &http.Client{Timeout: 10 * time.Second}, pause: time.Second, plays: os.Getenv("WEBHOOK_SECRET") == "",
	}
	// For this machine only: a real page listens behind TLS and takes its own host name.
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", cmp.Or(os.Getenv("SHOP_PORT"), "3003")))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("the payment page is at http://%s/pay, for %s; Ctrl-C stops it\n", l.Addr(), s.flashsale)
	return (&http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}).Serve(l)
}
