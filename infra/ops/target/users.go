package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"
)

const (
	// maxUsers bounds one call. Cognito's default quota is 50 new users per second.
	maxUsers = 10_000
	// atOnce bounds the calls in flight. Call waits and asks again when Cognito throttles.
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
	if code, err := p.call(ctx, "AdminCreateUser", object{
		"UserPoolId": p.id, "Username": name, "MessageAction": "SUPPRESS",
		"UserAttributes": []object{{"Name": "email", "Value": name}, {"Name": "email_verified", "Value": "true"}},
	}, new(any)); err != nil && code != "UsernameExistsException" {
		return "", err
	}
	// The template's password policy requires a lower-case letter, an upper-case letter and a digit.
	password := rand.Text() + "a1"
	if _, err := p.call(ctx, "AdminSetUserPassword", object{
		"UserPoolId": p.id, "Username": name, "Password": password, "Permanent": true,
	}, new(any)); err != nil {
		return "", err
	}
	var out struct {
		ChallengeName        string
		AuthenticationResult *struct{ AccessToken string }
	}
	code, err := p.call(ctx, "AdminInitiateAuth", object{
		"UserPoolId": p.id, "ClientId": p.client, "AuthFlow": "ADMIN_USER_PASSWORD_AUTH",
		"AuthParameters": object{"USERNAME": name, "PASSWORD": password},
	}, &out)
	switch {
	case code == "InvalidParameterException":
		return "", fmt.Errorf("%w: %w", ErrNotAllowed, err)
	case err != nil:
		return "", err
	case out.AuthenticationResult == nil:
		return "", fmt.Errorf("the user pool requires the challenge %s", out.ChallengeName)
	}
	return out.AuthenticationResult.AccessToken, nil
}

// call returns the code of an error, too.
func (p userPool) call(ctx context.Context, operation string, in object, out any) (code string, err error) {
	err = Call(ctx, p.aws, "cognito-idp", http.MethodPost, "/", "AWSCognitoIdentityProviderService."+operation, in, out)
	if said, ok := errors.AsType[smithy.APIError](err); ok {
		code = said.ErrorCode()
	}
	return code, err
}

type object = map[string]any
