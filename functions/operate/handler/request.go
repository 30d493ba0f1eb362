package handler

import (
	"cmp"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/httpapi"
)

// request is a request of an operator, and who that is.
type request struct {
	httpapi.Request
	actor string
	may   rights
	// verified: API Gateway verified a token, which names the actor. told: the caller of the
	// Invoke API says who the actor is.
	verified, told bool
	user           string // of the path, unvalidated
	query          query
}

// query is what the address asks for, unvalidated; "" where it does not say.
type query struct {
	drained, group, saleID, after string
}

var errBoth = errors.New("the caller is both verified and as told")

// operated is what is read of an event besides what every function reads.
type operated struct {
	Context struct {
		Authorizer map[string]jsontext.Value `json:"authorizer"`
	} `json:"requestContext"`
	Path struct {
		User string `json:"user"`
	} `json:"pathParameters"`
	Query struct {
		Drained string `json:"drained"`
		Group   string `json:"group"`
		SaleID  string `json:"saleId"`
		After   string `json:"after"`
	} `json:"queryStringParameters"`
}

// readRequest reads an event of API Gateway's payload format 2.0. A caller of the API has the
// claims of a verified token. One of the Invoke API may do anything, by IAM, so it only tells
// for whom it asks: requestContext.authorizer.asTold. It fails if the event is none, or if it
// names its caller twice.
func readRequest(payload []byte, rolesClaim string) (*request, error) {
	req := &request{}
	var err error
	if req.Request, err = httpapi.Decode(payload); err != nil {
		return nil, err
	}
	var e operated
	if err := jsonv2.Unmarshal(payload, &e, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("read caller: %w", err)
	}
	req.user, req.query = e.Path.User, query{e.Query.Drained, e.Query.Group, e.Query.SaleID, e.Query.After}
	var jwt struct {
		Claims map[string]jsontext.Value `json:"claims"`
	}
	var asTold struct {
		Actor string `json:"actor"`
	}
	var roles string
	verified, told := e.Context.Authorizer["jwt"], e.Context.Authorizer["asTold"]
	req.verified, req.told = verified != nil, told != nil // also if it is null
	read := func(value jsontext.Value, into any) error {
		if value == nil {
			return nil
		}
		return jsonv2.Unmarshal(value, into, jsontext.AllowInvalidUTF8(true))
	}
	err = cmp.Or(read(verified, &jwt), read(told, &asTold))
	if err = cmp.Or(err, read(jwt.Claims[rolesClaim], &roles)); err != nil {
		return nil, fmt.Errorf("read caller: %w", err)
	}
	switch {
	case req.verified && req.told:
		return nil, fmt.Errorf("read caller: %w", errBoth)
	case req.told:
		req.actor, req.may = asTold.Actor, operator|cashier
	case req.verified:
		req.may = rolesOf(roles)
	}
	return req, nil
}
