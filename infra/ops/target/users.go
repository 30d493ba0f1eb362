package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"golang.org/x/sync/errgroup"
)

const (
	// maxUsers bounds one call. Cognito's default quota is 50 new users per second.
	maxUsers = 10_000
	// atOnce bounds the calls in flight. The SDK backs off and retries when Cognito throttles.
	atOnce = 8
)

// userPool is a stack's own Cognito user pool, in which test users are made and signed in.
//
// The pool's client must allow ADMIN_USER_PASSWORD_AUTH, with which anyone who has the
// account's credentials can sign in as any user. The template allows it with
// CreateUserPool=with-test-users, which the preflight accepts in dev only.
type userPool struct {
	api        *cognito.Client
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
	_, err := p.api.AdminCreateUser(ctx, &cognito.AdminCreateUserInput{
		UserPoolId: &p.id, Username: &name, MessageAction: types.MessageActionTypeSuppress,
		UserAttributes: []types.AttributeType{
			{Name: aws.String("email"), Value: &name}, {Name: aws.String("email_verified"), Value: aws.String("true")},
		},
	})
	if _, exists := errors.AsType[*types.UsernameExistsException](err); err != nil && !exists {
		return "", err
	}
	// The template's password policy requires a lower-case letter, an upper-case letter and a digit.
	password := rand.Text() + "a1"
	if _, err := p.api.AdminSetUserPassword(ctx, &cognito.AdminSetUserPasswordInput{
		UserPoolId: &p.id, Username: &name, Password: &password, Permanent: true,
	}); err != nil {
		return "", err
	}
	out, err := p.api.AdminInitiateAuth(ctx, &cognito.AdminInitiateAuthInput{
		UserPoolId: &p.id, ClientId: &p.client, AuthFlow: types.AuthFlowTypeAdminUserPasswordAuth,
		AuthParameters: map[string]string{"USERNAME": name, "PASSWORD": password},
	})
	if _, refused := errors.AsType[*types.InvalidParameterException](err); refused {
		return "", fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	if err != nil {
		return "", err
	}
	if out.AuthenticationResult == nil {
		return "", fmt.Errorf("the user pool requires the challenge %s", out.ChallengeName)
	}
	return aws.ToString(out.AuthenticationResult.AccessToken), nil
}
