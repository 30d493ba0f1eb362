package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Operator asks OperateFunction in one person's name: by Invoke, with what the function reads of an
// event of the operators' API.
type Operator struct {
	*Client
	Actor string // the person, as told by whoever may invoke the function
}

// OperatorRequest is a request of a route of the operators' API.
type OperatorRequest struct {
	Method string
	Route  string            // like "/operate/sales/{saleId}"
	Path   map[string]string // the values of the route's parameters
	Query  map[string]string
	Body   string // JSON
}

// Operate makes the request. A function that failed is answered as API Gateway answers: 500
// without a code.
func (o Operator) Operate(ctx context.Context, r OperatorRequest) (Answer, error) {
	payload, err := json.Marshal(map[string]any{
		"version": "2.0", "routeKey": r.Method + " " + r.Route, "pathParameters": r.Path, "queryStringParameters": r.Query,
		"headers":        map[string]string{"content-type": "application/json"},
		"requestContext": map[string]any{"authorizer": map[string]any{"asTold": map[string]string{"actor": o.Actor}}},
		"body":           r.Body,
	})
	if err != nil {
		return Answer{}, fmt.Errorf("write event: %w", err)
	}
	a, err := o.Invoke(ctx, OperateFunction, payload)
	if err != nil {
		return a, fmt.Errorf("invoke %s: %w", OperateFunction, err)
	}
	if a.Header.Get(FunctionError) != "" {
		return Read(http.StatusInternalServerError, a.Header, a.Body), nil
	}
	if a.Status != http.StatusOK {
		return a, nil
	}
	var response struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(a.Body, &response); err != nil || response.StatusCode == 0 {
		return a, fmt.Errorf("invoke %s: %w", OperateFunction, unexpected(a))
	}
	header := http.Header{}
	for name, value := range response.Headers {
		header.Set(name, value)
	}
	return Read(response.StatusCode, header, []byte(response.Body)), nil
}
