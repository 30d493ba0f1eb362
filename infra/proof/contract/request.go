package contract

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Token is an Authorization header, "" for none, and its expected result.
type Token struct {
	Authorization string
	// Refused: API Gateway refuses it; Unfit: API Gateway accepts it, but its sub is
	// not a valid user id.
	Refused, Unfit bool
	// Barred are the operations for which it names no role that they take.
	Barred []string
}

// Request is a drawn request.
type Request struct {
	Operation Operation // the one it was drawn for; Target may differ
	Method    string
	Path      string // escaped, with a query
	Header    http.Header
	Body      []byte
	Token     Token
	// Flaws are the statuses that its parts cause: 400 for a parameter that does not
	// match its schema, and so on. Without any it is a valid request.
	Flaws []int
}

// HTTP returns the request to a server. It fails if the path is invalid.
func (r *Request) HTTP(ctx context.Context, base string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header = r.Header.Clone()
	if r.Token.Authorization != "" {
		request.Header.Set("Authorization", r.Token.Authorization)
	}
	return request, nil
}

func (r *Request) String() string {
	return fmt.Sprintf("%s %s %q %q (flaws %v, token refused %v)",
		r.Method, excerpt([]byte(r.Path)), r.Header, excerpt(r.Body), r.Flaws, r.Token.Refused)
}

func (r *Request) addQuery(text string) {
	separator := "?"
	if strings.Contains(r.Path, "?") {
		separator = "&"
	}
	r.Path += separator + text
}

// large is about the size at which the document's 431 begins: the client adds its own
// headers.
const large = 9_000

func (r *Request) isLarge() bool {
	size := len(r.Path) + len(r.Token.Authorization)
	for name, values := range r.Header {
		size += len(name) + len(values[0]) + 4
	}
	return size > large
}

// Judge checks that an outcome is allowed for this request: a refused token gets a 401,
// one without a role a 403, a flawed request the matching problem, a valid one none, and nothing gets a 500.
func (r *Request) Judge(got Outcome) error {
	fail := func(want string) error { return fmt.Errorf("got %s, want %s", got, want) }
	switch {
	case got.Status == http.StatusInternalServerError:
		return fail("no failure")
	case got.Status == http.StatusRequestHeaderFieldsTooLarge:
		if !r.isLarge() {
			return fail("another answer to a short request")
		}
	case got.Operation == elsewhere:
		if got.Status != http.StatusNotFound {
			return fail("404")
		}
	case got.Operation != r.Operation.ID:
		return nil // a flaw made it another operation, with unknown expectations
	case !r.Operation.Public && r.Token.Refused:
		if got.Status != http.StatusUnauthorized {
			return fail("401")
		}
	case !r.Operation.Public && slices.Contains(r.Token.Barred, r.Operation.ID):
		if got.Status != http.StatusForbidden {
			return fail("403")
		}
	default:
		flaws := r.Flaws
		if !r.Operation.Public && r.Token.Unfit {
			flaws = append(slices.Clone(flaws), http.StatusBadRequest)
		}
		isFlaw := slices.Contains([]int{400, 413, 415}, got.Status)
		if len(flaws) > 0 && !slices.Contains(flaws, got.Status) {
			return fail(fmt.Sprint(flaws))
		}
		if len(flaws) == 0 && (isFlaw || got.Status == http.StatusUnauthorized) {
			return fail("no refusal of a good request")
		}
	}
	return nil
}

// isOrderID checks the part of an order id's format that the document states only in
// prose.
func isOrderID(text string) bool {
	id, err := strconv.ParseUint(text, 10, 63)
	return err == nil && uint32(id) != 0
}

// escape writes a path segment, sometimes with more escapes than it needs.
func escape(segment string, all bool) string {
	if !all {
		return url.PathEscape(segment)
	}
	var b bytes.Buffer
	for i := range len(segment) {
		fmt.Fprintf(&b, "%%%02X", segment[i])
	}
	return b.String()
}
