package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/ledger"
)

// recorder is the HTTP client of a DynamoDB client. It keeps transactions instead of sending
// them: byte for byte the ledger's requests for a purchase. It sends all other requests.
type recorder struct {
	client   *http.Client
	recorded []byte
}

// transaction is the suffix of X-Amz-Target in the requests to keep.
const transaction = ".TransactWriteItems"

// Do keeps or sends a request.
func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.Header.Get("X-Amz-Target"), transaction) {
		return r.client.Do(request)
	}
	var b bytes.Buffer
	if err := request.Write(&b); err != nil {
		return nil, fmt.Errorf("record request: %w", err)
	}
	r.recorded = b.Bytes()
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(strings.NewReader("{}")),
	}, nil
}

// order is a recorded purchase.
type order struct {
	ref     ledger.ClaimRef
	request []byte
}

// record makes the purchases of a sale, one per user, without sending them. The client has
// the same settings, including retries, as in the functions.
func record(ctx context.Context, client *dynamodb.Client, table, saleID string, users []string) ([]order, error) {
	r := &recorder{client: &http.Client{}}
	recording := dynamodb.New(client.Options(), ledger.OneAttempt, func(o *dynamodb.Options) { o.HTTPClient = r })
	book := ledger.New(recording, table, ledger.Options{})
	orders := make([]order, len(users))
	for i, user := range users {
		bought, err := book.Purchase(ctx, ledger.Request{SaleID: saleID, User: user})
		if err != nil {
			return nil, fmt.Errorf("record purchase: %w", err)
		}
		orders[i] = order{ledger.ClaimRef{SaleID: saleID, User: user, ClaimID: bought.Claim.ID, Buckets: bought.Claim.Buckets}, r.recorded}
	}
	r.client.CloseIdleConnections()
	return orders, nil
}
