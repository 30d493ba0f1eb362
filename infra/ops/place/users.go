package place

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/rush"
)

const (
	// maxUsers bounds one call. Cognito's default quota is 50 new users per second.
	maxUsers = 10_000
	// atOnce bounds the calls in flight.
	atOnce = 8
)

// userPool is a stack's own Cognito user pool, in which test users are made and signed in.
//
// The pool's client must allow ADMIN_USER_PASSWORD_AUTH, with which anyone who has the
// account's credentials can sign in as any user. The template allows it with
// CreateUserPool=with-test-users, which the preflight accepts in dev only.
type userPool struct {
	aws        aws.Config
	id, client string
}

// ErrNotAllowed means that the pool's client does not let administrators sign users in.
var ErrNotAllowed = errors.New("the user pool's client does not allow test users; deploy with CreateUserPool=with-test-users, in dev only")

// tokens returns access tokens of the users, whose addresses are NAME@test.invalid. An
// existing user gets a new password.
func (p userPool) tokens(ctx context.Context, users []string) ([]string, error) {
	tokens := make([]string, len(users))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, user := range users {
		group.Go(func() (err error) {
			name := user + "@test.invalid"
			if tokens[i], err = p.signIn(ctx, name); err != nil {
				return fmt.Errorf("sign in %s: %w", name, err)
			}
			return nil
		})
	}
	return tokens, group.Wait()
}

func (p userPool) signIn(ctx context.Context, name string) (string, error) {
	type fields map[string]any
	err := p.call(ctx, "AdminCreateUser", fields{
		"UserPoolId": p.id, "Username": name, "MessageAction": "SUPPRESS",
		"UserAttributes": []fields{{"Name": "email", "Value": name}, {"Name": "email_verified", "Value": "true"}},
	}, &struct{}{})
	if err != nil && !refusedAs(err, "UsernameExistsException") {
		return "", err
	}
	// The template's password policy requires a lower-case letter, an upper-case letter and a digit.
	password := rand.Text() + "a1"
	if err := p.call(ctx, "AdminSetUserPassword", fields{"UserPoolId": p.id, "Username": name, "Password": password, "Permanent": true}, &struct{}{}); err != nil {
		return "", err
	}
	var out struct {
		ChallengeName        string
		AuthenticationResult *struct{ AccessToken string }
	}
	err = p.call(ctx, "AdminInitiateAuth", fields{
		"UserPoolId": p.id, "ClientId": p.client, "AuthFlow": "ADMIN_USER_PASSWORD_AUTH",
		"AuthParameters": fields{"USERNAME": name, "PASSWORD": password},
	}, &out)
	switch {
	case err != nil && refusedAs(err, "InvalidParameterException"):
		return "", fmt.Errorf("%w: %w", ErrNotAllowed, err)
	case err != nil:
		return "", err
	case out.AuthenticationResult == nil:
		return "", fmt.Errorf("the user pool requires the challenge %s", out.ChallengeName)
	}
	return out.AuthenticationResult.AccessToken, nil
}

// call makes a call of Cognito and decodes its answer. It is repeated as a command's calls are, also while
// Cognito throttles. The SDK's package for Cognito would take longer to compile than any other of a command.
func (p userPool) call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	for try := 1; err == nil; try++ {
		var answer []byte
		if answer, err = p.once(ctx, operation, body); err == nil {
			return json.Unmarshal(answer, out)
		}
		if try < Tries && p.aws.Retryer().IsErrorRetryable(err) && rush.WaitUntil(ctx, time.Now().Add(Pause)) {
			err = nil
		}
	}
	return fmt.Errorf("%s of Cognito: %w", operation, err)
}

// once makes one signed call by AWS's protocol of JSON 1.1. A refusal is a smithy.APIError.
func (p userPool) once(ctx context.Context, operation string, body []byte) ([]byte, error) {
	address := cmp.Or(aws.ToString(p.aws.BaseEndpoint), "https://cognito-idp."+p.aws.Region+".amazonaws.com")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
	credentials, err := p.aws.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(body))
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hash, "cognito-idp", p.aws.Region, time.Now()); err != nil {
		return nil, err
	}
	response, err := p.aws.HTTPClient.Do(request)
	if err != nil {
		return nil, &smithyhttp.RequestSendError{Err: err}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode == http.StatusOK {
		return answer, err
	}
	var told struct {
		Type    string `json:"__type"` // such as TooManyRequestsException
		Message string `json:"message"`
	}
	_ = json.Unmarshal(answer, &told) // a proxy's answer is no JSON
	return nil, &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: response}, Err: &smithy.GenericAPIError{Code: told.Type, Message: told.Message},
	}
}

// refusedAs reports whether AWS refused a call for this reason.
func refusedAs(err error, code string) bool {
	refusal, ok := errors.AsType[smithy.APIError](err)
	return ok && refusal.ErrorCode() == code
}
