// Package tokens makes test users in a stack's own Cognito user pool and signs them in.
//
// The pool's client must allow ADMIN_USER_PASSWORD_AUTH, which lets whoever has the
// account's credentials sign in as anybody. The template allows it by AllowTestUsers,
// which the preflight refuses for production.
package tokens

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
	// MaxUsers bounds one call. Cognito creates 50 users a second by default.
	MaxUsers = 10_000
	// atOnce bounds the calls in flight. The SDK waits and repeats where Cognito throttles.
	atOnce = 8
)

// API is what is needed of the Cognito client.
type API interface {
	AdminCreateUser(context.Context, *cognito.AdminCreateUserInput, ...func(*cognito.Options)) (*cognito.AdminCreateUserOutput, error)
	AdminSetUserPassword(context.Context, *cognito.AdminSetUserPasswordInput, ...func(*cognito.Options)) (*cognito.AdminSetUserPasswordOutput, error)
	AdminInitiateAuth(context.Context, *cognito.AdminInitiateAuthInput, ...func(*cognito.Options)) (*cognito.AdminInitiateAuthOutput, error)
}

// Pool is a user pool and its client.
type Pool struct {
	API        API
	ID, Client string
}

// ErrNotAllowed: the pool's client does not let administrators sign users in.
var ErrNotAllowed = errors.New("the user pool's client does not allow test users; deploy with AllowTestUsers=true, in dev only")

// Make returns access tokens of n users, whose addresses are PREFIX-000001@test.invalid
// and so on. A user that exists is signed in with a new password. n is 1 to MaxUsers.
func (p Pool) Make(ctx context.Context, prefix string, n int) ([]string, error) {
	if n < 1 || n > MaxUsers {
		return nil, fmt.Errorf("make %d tokens: must be 1 to %d", n, MaxUsers)
	}
	tokens := make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range tokens {
		group.Go(func() (err error) {
			name := fmt.Sprintf("%s-%06d@test.invalid", prefix, i+1)
			if tokens[i], err = p.signIn(ctx, name); err != nil {
				return fmt.Errorf("sign in %s: %w", name, err)
			}
			return nil
		})
	}
	return tokens, group.Wait()
}

func (p Pool) signIn(ctx context.Context, name string) (string, error) {
	_, err := p.API.AdminCreateUser(ctx, &cognito.AdminCreateUserInput{
		UserPoolId: &p.ID, Username: &name, MessageAction: types.MessageActionTypeSuppress,
		UserAttributes: []types.AttributeType{
			{Name: aws.String("email"), Value: &name}, {Name: aws.String("email_verified"), Value: aws.String("true")},
		},
	})
	if _, exists := errors.AsType[*types.UsernameExistsException](err); err != nil && !exists {
		return "", err
	}
	// The template's password policy wants a lower-case letter, an upper-case one and a digit.
	password := rand.Text() + "a1"
	if _, err := p.API.AdminSetUserPassword(ctx, &cognito.AdminSetUserPasswordInput{
		UserPoolId: &p.ID, Username: &name, Password: &password, Permanent: true,
	}); err != nil {
		return "", err
	}
	out, err := p.API.AdminInitiateAuth(ctx, &cognito.AdminInitiateAuthInput{
		UserPoolId: &p.ID, ClientId: &p.Client, AuthFlow: types.AuthFlowTypeAdminUserPasswordAuth,
		AuthParameters: map[string]string{"USERNAME": name, "PASSWORD": password},
	})
	if _, refused := errors.AsType[*types.InvalidParameterException](err); refused {
		return "", fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	if err != nil {
		return "", err
	}
	if out.AuthenticationResult == nil {
		return "", fmt.Errorf("the pool asks for %s first", out.ChallengeName)
	}
	return aws.ToString(out.AuthenticationResult.AccessToken), nil
}
