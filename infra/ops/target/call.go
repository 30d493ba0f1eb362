package target

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/restjson"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Call calls an operation of a service that speaks JSON, for Cognito and API Gateway, as whose clients in the SDK
// would take a seventh of the time that the first build takes. It asks again, and fails, as they would. target is
// the X-Amz-Target of services whose operations have one address.
func Call(ctx context.Context, cfg aws.Config, service, method, path, target string, in, out any) error {
	retryer := cfg.Retryer()
	for try := 1; ; try++ {
		err := call(ctx, cfg, service, method, path, target, in, out)
		if err == nil {
			return nil
		}
		delay, tired := retryer.RetryDelay(try, err)
		if tired != nil || try >= retryer.MaxAttempts() || !retryer.IsErrorRetryable(err) {
			return &smithy.OperationError{ServiceID: service, OperationName: method + " " + path + target, Err: err}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(delay):
		}
	}
}

func call(ctx context.Context, cfg aws.Config, service, method, path, target string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	// The host's last part differs between AWS's partitions, and the client of Lambda knows them all.
	at, err := lambda.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, lambda.EndpointParameters{Region: &cfg.Region})
	if err != nil {
		return err
	}
	address := "https://" + strings.Replace(at.URI.Host, "lambda", service, 1)
	if cfg.BaseEndpoint != nil {
		address = *cfg.BaseEndpoint
	}
	request, err := http.NewRequestWithContext(ctx, method, address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if in != nil {
		request.Header.Set("Content-Type", "application/x-amz-json-1.1")
		request.Header.Set("X-Amz-Target", target)
	}
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), service, cfg.Region, time.Now()); err != nil {
		return err
	}
	response, err := cfg.HTTPClient.Do(request)
	if err != nil {
		return &smithyhttp.RequestSendError{Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return json.NewDecoder(response.Body).Decode(out)
	}
	said, err := restjson.GetSmithyGenericAPIError(json.NewDecoder(response.Body), restjson.SanitizeErrorCode(response.Header.Get("X-Amzn-Errortype")))
	if err != nil { // as a proxy's page
		said = &smithy.GenericAPIError{Code: response.Status}
	}
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: response}, Err: said}
}
