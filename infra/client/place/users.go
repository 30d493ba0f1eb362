package place

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
	// maxUsers bounds one call. Cognito creates 50 users a second by default.
	maxUsers = 10_000
	// atOnce bounds the calls in flight. The SDK waits and repeats where Cognito throttles.
	atOnce = 8
)

// userPool is a stack's own Cognito user pool, in which test users are made and signed in.
//
// The pool's client must allow ADMIN_USER_PASSWORD_AUTH, which lets whoever has the
// account's credentials sign in as anybody. The template allows it by AllowTestUsers,
// which the preflight refuses for production.
type userPool struct {
	api        *cognito.Client
	id, client string
}

// ErrNotAllowed: the pool's client does not let administrators sign users in.
var ErrNotAllowed = errors.New("the user pool's client does not allow test users; deploy with AllowTestUsers=true, in dev only")

// tokens are access tokens of the users, whose addresses are NAME@test.invalid. A user that
// exists is signed in with a new password.
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
	// The template's password policy wants a lower-case letter, an upper-case one and a digit.
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
		return "", fmt.Errorf("the pool asks for %s first", out.ChallengeName)
	}
	return aws.ToString(out.AuthenticationResult.AccessToken), nil
}
