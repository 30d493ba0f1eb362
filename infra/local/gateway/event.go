package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// event is payload format 2.0. It replaces two fields that package events encodes
// differently from API Gateway (null scopes, no empty client certificate).
type event struct {
	events.APIGatewayV2HTTPRequest
	RequestContext requestContext `json:"requestContext"`
}

type requestContext struct {
	events.APIGatewayV2HTTPRequestContext
	Authorizer     *authorizer `json:"authorizer,omitempty"`
	Authentication *struct{}   `json:"authentication,omitempty"`
}

// connectionHeaders concern the connection to the gateway, not the function.
var connectionHeaders = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

func (g *gateway) event(r *http.Request, id string, route *compiled, parameters map[string]string, caller *authorizer, body []byte) event {
	now := g.o.Now().UTC()
	ip := sourceIP(r)
	domain := host(r)
	prefix, _, _ := strings.Cut(domain, ".")
	e := event{}
	e.Version = "2.0"
	e.RouteKey = route.key
	e.RawPath = r.URL.Path // an HTTP API decodes it, despite its name
	e.RawQueryString = r.URL.RawQuery
	e.Headers = headers(r, ip, len(body))
	e.QueryStringParameters = queryParameters(r.URL.RawQuery)
	e.PathParameters = parameters
	e.Body, e.IsBase64Encoded = bodyText(r.Header.Get("Content-Type"), body)

	c := &e.RequestContext
	c.AccountID = "000000000000"
	c.APIID = g.o.APIID
	c.Authorizer = caller
	c.DomainName = domain
	c.DomainPrefix = prefix
	c.HTTP.Method = r.Method
	c.HTTP.Path = r.URL.Path
	c.HTTP.Protocol = r.Proto
	c.HTTP.SourceIP = ip
	c.HTTP.UserAgent = r.UserAgent()
	c.RequestID = id
	c.RouteKey = route.key
	c.Stage = "$default"
	c.Time = now.Format("02/Jan/2006:15:04:05 -0700")
	c.TimeEpoch = now.UnixMilli()
	return e
}

// encodeEvent does not escape <, > and & for HTML, which would only make events harder
// to read.
func encodeEvent(e event) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func headers(r *http.Request, ip string, length int) map[string]string {
	all := make(map[string]string, len(r.Header)+5)
	for name, values := range r.Header {
		// Cookies have a field of their own, which no function reads.
		if name != "Cookie" && !connectionHeaders[name] {
			all[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	all["host"] = r.Host
	all["content-length"] = strconv.Itoa(length)
	if before := all["x-forwarded-for"]; before != "" {
		all["x-forwarded-for"] = before + ", " + ip
	} else {
		all["x-forwarded-for"] = ip
	}
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	all["x-forwarded-port"] = port
	all["x-forwarded-proto"] = "http"
	return all
}

func queryParameters(raw string) map[string]string {
	parameters, _ := url.ParseQuery(raw) // what cannot be decoded is left out
	if len(parameters) == 0 {
		return nil
	}
	all := map[string]string{}
	for name, values := range parameters {
		all[name] = strings.Join(values, ",")
	}
	return all
}

func bodyText(contentType string, body []byte) (text string, isBase64 bool) {
	if len(body) == 0 || isText(contentType, body) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

func sourceIP(r *http.Request) string {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return ip
}

func host(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		return r.Host
	}
	return name
}

// maxEventBytes is Lambda's limit for an event. The event contains the body, as
// Base64 if it is not text, so an HTTP API's own limit of 10 MB is never reached.
const maxEventBytes = 6 << 20

// readBody fails with *http.MaxBytesError beyond the size limit.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxEventBytes))
}

// isText reports whether an event contains the body unencoded: only for these content
// types (not for forms), and only if JSON can carry the bytes unchanged.
func isText(contentType string, body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && textual.MatchString(media)
}

var textual = regexp.MustCompile(`^(text/.*|application/(json|javascript|xml|.*\+json|.*\+xml))$`)
