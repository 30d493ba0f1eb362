package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"flashsale/infra/kit/client"
)

// newClient makes the client that all buyers share.
func newClient(address string, inflight int, allowRemote bool) *client.Client {
	return client.New(address, client.Options{Transport: transport(inflight, allowRemote)})
}

// transport connects only to this machine unless allowRemote is set.
func transport(inflight int, allowRemote bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !allowRemote {
		// Check the dialled address, after redirects and name resolution.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || !client.Loopback(host) {
				return fmt.Errorf("dial %s: %w", address, errRemote)
			}
			return nil
		}
	}
	var proxy func(*http.Request) (*url.URL, error) // no proxy for this machine
	if allowRemote {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Transport{
		DialContext: dialer.DialContext, Proxy: proxy, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: inflight, MaxIdleConns: inflight, IdleConnTimeout: time.Minute,
		// No HTTP/2: requests sharing a connection would wait for each other inside the
		// generator.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}
