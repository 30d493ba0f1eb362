package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// healthTime bounds the health check of a local stack.
const healthTime = 5 * time.Second

// ErrNoSystem means that no system was found at the given place.
var ErrNoSystem = errors.New("no system found")

// System is a running system. Unknown fields are empty.
type System struct {
	*Client
	Local                            bool
	Version                          string // the release that runs, such as 0.6.0; empty if it does not say
	Table                            string
	DynamoDB, SQS                    string // addresses of a local stack's
	OrderQueue, OrderDeadLetterQueue string // URLs
	EventBridge                      string // address of a local stack's
	EventBus                         string // name or ARN; empty if no events are published
}

// Find gets the addresses of a local stack's parts from the stack.
func Find(ctx context.Context, api string, o Options) (System, error) {
	c := New(api, o)
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	var parts struct{ Lambda, DynamoDB, SQS, Table, EventBridge, EventBus, Version string }
	a, err := c.Send(ctx, http.MethodGet, "/_local/health", "")
	switch {
	case err != nil:
	case a.Status != http.StatusOK:
		err = unexpected(a)
	case json.Unmarshal(a.Body, &parts) != nil || parts.Table == "":
		err = errors.New("the server there is not a local stack")
	}
	if err != nil {
		c.Close()
		return System{}, fmt.Errorf("%w at %s (make run starts one): %w", ErrNoSystem, c.API, err)
	}
	c.lambda = parts.Lambda
	s := System{
		Client: c, Local: true, Table: parts.Table, DynamoDB: parts.DynamoDB, SQS: parts.SQS,
		EventBridge: parts.EventBridge, EventBus: parts.EventBus, Version: parts.Version,
	}
	if s.SQS != "" {
		queues := s.SQS + "/000000000000/"
		s.OrderQueue, s.OrderDeadLetterQueue = queues+"OrderQueue", queues+"OrderDeadLetterQueue"
	}
	return s, nil
}

// Port returns the API's port, by which other programs find a local stack.
func (c *Client) Port() string {
	if u, err := url.Parse(c.API); err == nil && u.Port() != "" {
		return u.Port()
	}
	return "80"
}

// CheckAddress fails unless address is an http or https address of an API.
func CheckAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("read address: %q is not the http or https address of an API", address)
	}
	return u, nil
}

// Loopback reports whether a host is this machine. It does not use DNS: a name may resolve
// differently by the time it is dialled.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
