package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"flashsale/infra/client"
)

// newClient makes the client of all buyers.
func newClient(address string, inflight int, allowRemote bool) *client.Client {
	return client.New(address, client.Options{Transport: transport(inflight, allowRemote)})
}

// transport reaches this machine only, unless another one is allowed.
func transport(inflight int, allowRemote bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !allowRemote {
		// The address that is really dialled, after redirects, names and all.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || !client.Loopback(host) {
				return fmt.Errorf("dial %s: %w", address, errRemote)
			}
			return nil
		}
	}
	var proxy func(*http.Request) (*url.URL, error) // none on this machine
	if allowRemote {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Transport{
		DialContext: dialer.DialContext, Proxy: proxy, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: inflight, MaxIdleConns: inflight, IdleConnTimeout: time.Minute,
		// One connection per request in flight: sharing one over HTTP/2 would make
		// requests wait for each other inside the generator.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}
