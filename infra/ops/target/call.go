package target

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/restjson"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Call calls a service that speaks JSON, with the retries and the errors of the SDK. It is for Cognito and API
// Gateway: the SDK's clients of these two take a tenth of the time of the first build. target is the X-Amz-Target by
// which a service knows its operations, if they share a path.
func Call(ctx context.Context, cfg aws.Config, service, method, path, target string, in, out any) error {
	send := func(ctx context.Context, _ middleware.FinalizeInput) (o middleware.FinalizeOutput, m middleware.Metadata, err error) {
		return o, m, send(ctx, cfg, service, method, path, target, in, out)
	}
	attempts := retry.NewAttemptMiddleware(cfg.Retryer(), func(request any) any { return request })
	if _, _, err := attempts.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(send)); err != nil {
		return &smithy.OperationError{ServiceID: service, OperationName: method + " " + path + target, Err: err}
	}
	return nil
}

func send(ctx context.Context, cfg aws.Config, service, method, path, target string, in, out any) error {
	// The host's last part differs between AWS's partitions, which the client of Lambda knows.
	at, err := lambda.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, lambda.EndpointParameters{Region: &cfg.Region})
	if err != nil {
		return err
	}
	address := cmp.Or(aws.ToString(cfg.BaseEndpoint), "https://"+strings.Replace(at.URI.Host, "lambda", service, 1))
	body := []byte{}
	if in != nil {
		body, _ = json.Marshal(in) // words and truth values only
	}
	request, err := http.NewRequestWithContext(ctx, method, address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if target != "" {
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
	answer := json.NewDecoder(response.Body)
	if response.StatusCode != http.StatusOK {
		said, err := restjson.GetSmithyGenericAPIError(answer, restjson.SanitizeErrorCode(response.Header.Get("X-Amzn-Errortype")))
		if err != nil { // it is not the service's
			said = &smithy.GenericAPIError{Code: response.Status}
		}
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: response}, Err: said}
	}
	return answer.Decode(out)
}
