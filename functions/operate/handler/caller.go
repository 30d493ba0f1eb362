package handler

import (
	"errors"
	"fmt"

	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
)

// call is one request and who makes it.
type call struct {
	httpapi.Request
	actor string
	role  role
	// verified: API Gateway verified a token, which names the actor. told: the caller of the
	// Invoke API says who the actor is.
	verified, told bool
	user           string // of the path, unvalidated
	query          query
	chinese        bool // the caller is told so, and else in English
}

// query is what the address asks for, unvalidated; "" where it does not say.
type query struct {
	drained, group, saleID, after string
}

var (
	errTwice = errors.New("a member that is read is there twice")
	errBoth  = errors.New("the caller is both verified and as told")
)

// readCall reads an event of API Gateway's payload format 2.0. A caller of the API has the
// claims of a verified token. One of the Invoke API may do anything, by IAM, so it only tells
// for whom it asks: requestContext.authorizer.asTold. It fails if the event is none, or if it
// names its caller twice.
func readCall(payload []byte, rolesClaim string) (*call, error) {
	c := &call{}
	var err error
	if c.Request, err = httpapi.Decode(payload); err != nil {
		return nil, err
	}
	var roles, told, languages string
	err = jsonread.Read(payload, func(e *jsonread.Reader) error {
		claims := func() error { return object(e, members{rolesClaim: text(e, &roles)}) }
		authorizer := func() error {
			return object(e, members{
				"jwt":    func() error { c.verified = true; return object(e, members{"claims": claims}) },
				"asTold": func() error { c.told = true; return object(e, members{"actor": text(e, &told)}) },
			})
		}
		return object(e, members{
			"requestContext": func() error { return object(e, members{"authorizer": authorizer}) },
			"pathParameters": func() error { return object(e, members{"user": text(e, &c.user)}) },
			"headers":        func() error { return object(e, members{"accept-language": text(e, &languages)}) },
			"queryStringParameters": func() error {
				q := &c.query
				return object(e, members{
					"drained": text(e, &q.drained), "group": text(e, &q.group), "saleId": text(e, &q.saleID),
					"after": text(e, &q.after),
				})
			},
		})
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read caller: %w", err)
	case c.verified && c.told:
		return nil, fmt.Errorf("read caller: %w", errBoth)
	case c.told:
		c.actor, c.role = told, operator
	case c.verified:
		c.role = rolesOf(roles)
	}
	c.chinese = prefersChinese(languages)
	return c, nil
}

// members are the members of an object that are read, with what takes their values.
type members map[string]func() error

// object takes an object. API Gateway writes each member once, so a duplicate is ambiguous.
func object(e *jsonread.Reader, take members) error {
	seen := map[string]bool{}
	return e.Object(func(name []byte) error {
		value, known := take[string(name)]
		switch {
		case !known:
			return e.Skip()
		case seen[string(name)]:
			return errTwice
		}
		seen[string(name)] = true
		return value()
	})
}

func text(e *jsonread.Reader, to *string) func() error {
	return func() (err error) { *to, _, err = e.Text(); return err }
}
