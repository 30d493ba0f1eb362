package contract

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// Token is an Authorization header, "" for none, and what to expect of it.
type Token struct {
	Authorization string
	// Refused is one that API Gateway does not let through; Unfit one that it does,
	// with a sub that is no user id.
	Refused, Unfit bool
}

// Request is a drawn request.
type Request struct {
	Operation Operation // the one it was drawn for; Target may be another one
	Method    string
	Path      string // escaped, with a query
	Header    http.Header
	Body      []byte
	Token     Token
	// Flaws are the statuses that its parts ask for: 400 for a parameter that does
	// not fit its schema, and so on. Without one it is a good request.
	Flaws []int
}

// HTTP is the request to a server. It fails if the path is not one.
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

// large is about where the document's 431 begins: the client adds headers of its
// own.
const large = 9_000

func (r *Request) isLarge() bool {
	size := len(r.Path) + len(r.Token.Authorization)
	for name, values := range r.Header {
		size += len(name) + len(values[0]) + 4
	}
	return size > large
}

// Judge says whether an outcome of the contract is one that this request may
// have: a refused token gets a 401, a flawed request the matching problem, a good
// one none, and nothing gets a 500.
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
		return nil // a flaw made it another operation, about which nothing is known
	case !r.Operation.Public && r.Token.Refused:
		if got.Status != http.StatusUnauthorized {
			return fail("401")
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

// isOrderID says what the document can say of an order id in words only.
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
