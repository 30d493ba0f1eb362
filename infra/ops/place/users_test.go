package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/credentials"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
)

// cognitoStub implements the Cognito calls that are made here, as the template's user pool answers them.
type cognitoStub struct {
	allowed bool // ADMIN_USER_PASSWORD_AUTH

	mu        sync.Mutex
	passwords map[string]string // permanent ones, by user
	throttle  int               // number of calls to throttle first
}

func (p *cognitoStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in struct {
		UserPoolId, Username, Password, ClientId, AuthFlow, MessageAction string
		Permanent                                                         bool
		AuthParameters                                                    map[string]string
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	_, known := p.passwords[in.Username]
	lacks := func(is func(rune) bool) bool { return !strings.ContainsFunc(in.Password, is) }
	name, password := in.AuthParameters["USERNAME"], in.AuthParameters["PASSWORD"]
	refusal, answer := "", "{}"
	switch call := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSCognitoIdentityProviderService."); {
	case p.throttle > 0:
		p.throttle--
		refusal = "TooManyRequestsException"
	case err != nil || in.UserPoolId != "pool":
		refusal = "ResourceNotFoundException"
	case call == "AdminCreateUser" && known:
		refusal = "UsernameExistsException"
	case call == "AdminCreateUser" && in.MessageAction != "SUPPRESS":
		refusal = "InvalidParameterException" // a mail would be sent
	case call == "AdminCreateUser":
		p.passwords[in.Username] = ""
	case call == "AdminSetUserPassword" && (!known || !in.Permanent || lacks(unicode.IsLower) || lacks(unicode.IsUpper) || lacks(unicode.IsDigit)):
		refusal = "InvalidPasswordException"
	case call == "AdminSetUserPassword":
		p.passwords[in.Username] = in.Password
	case in.ClientId != "client" || !p.allowed || in.AuthFlow != "ADMIN_USER_PASSWORD_AUTH":
		refusal = "InvalidParameterException"
	case password == "" || p.passwords[name] != password:
		refusal = "NotAuthorizedException"
	default:
		answer = fmt.Sprintf(`{"AuthenticationResult":{"AccessToken":"token of %s"}}`, name)
	}
	if refusal != "" {
		w.Header().Set("X-Amzn-Errortype", refusal)
		w.WriteHeader(http.StatusBadRequest)
	}
	fmt.Fprint(w, answer)
}

func placeOf(t *testing.T, p *cognitoStub) Place {
	t.Helper()
	p.passwords = map[string]string{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return Place{users: userPool{id: "pool", client: "client", api: cognito.New(cognito.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}}
}

func TestEachUserGetsTheirOwnTokenAndUsersAreReused(t *testing.T) {
	place := placeOf(t, &cognitoStub{allowed: true, throttle: 1})
	first, err := place.Tokens(t.Context(), "buyer", 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 20 || first[0] != "token of buyer-000001@test.invalid" || len(slices.Compact(slices.Clone(first))) != 20 {
		t.Errorf("tokens %q", first)
	}
	again, err := place.Tokens(t.Context(), "buyer", 20)
	if err != nil || !slices.Equal(first, again) {
		t.Errorf("again: %q, %v", again, err)
	}
}

func TestARefusalOfTestUsersNamesTheRemedy(t *testing.T) {
	place := placeOf(t, &cognitoStub{})
	if _, err := place.Tokens(t.Context(), "buyer", 1); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("%v, want ErrNotAllowed", err)
	}
}

func TestTokensThatCannotBeMadeAreAnError(t *testing.T) {
	place := placeOf(t, &cognitoStub{allowed: true})
	for _, n := range []int{-1, 0, maxUsers + 1} {
		if _, err := place.Tokens(t.Context(), "buyer", n); err == nil {
			t.Errorf("%d tokens were made", n)
		}
	}
	place.users.id = "another"
	if tokens, err := place.Tokens(t.Context(), "buyer", 2); err == nil {
		t.Errorf("another pool gave %q", tokens)
	}
}
