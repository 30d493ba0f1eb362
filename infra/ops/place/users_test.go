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

// cognitoStub implements the Cognito calls that are made here.
type cognitoStub struct {
	allowed bool // ADMIN_USER_PASSWORD_AUTH

	mu        sync.Mutex
	users     map[string]string // passwords
	permanent map[string]bool
	throttle  int // number of calls to throttle first
}

func (p *cognitoStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in struct {
		UserPoolID     string `json:"UserPoolId"`
		Username       string
		Password       string
		Permanent      bool
		ClientID       string `json:"ClientId"`
		AuthFlow       string
		MessageAction  string
		AuthParameters map[string]string
	}
	refuse := func(code string) {
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q}`, code)
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse("SerializationException")
		return
	}
	if p.throttle > 0 {
		p.throttle--
		refuse("TooManyRequestsException")
		return
	}
	if in.UserPoolID != "pool" {
		refuse("ResourceNotFoundException")
		return
	}
	_, known := p.users[in.Username]
	switch strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSCognitoIdentityProviderService.") {
	case "AdminCreateUser":
		switch {
		case known:
			refuse("UsernameExistsException")
		case !strings.Contains(in.Username, "@") || in.MessageAction != "SUPPRESS":
			refuse("InvalidParameterException") // names are addresses, and no mail is sent
		default:
			p.users[in.Username] = ""
			fmt.Fprint(w, `{"User":{}}`)
		}
	case "AdminSetUserPassword":
		has := func(is func(rune) bool) bool { return strings.ContainsFunc(in.Password, is) }
		switch {
		case !known:
			refuse("UserNotFoundException")
		case len(in.Password) < 12 || !has(unicode.IsLower) || !has(unicode.IsUpper) || !has(unicode.IsDigit):
			refuse("InvalidPasswordException")
		default:
			p.users[in.Username], p.permanent[in.Username] = in.Password, in.Permanent
			fmt.Fprint(w, `{}`)
		}
	case "AdminInitiateAuth":
		name, password := in.AuthParameters["USERNAME"], in.AuthParameters["PASSWORD"]
		switch {
		case in.ClientID != "client" || !p.allowed || in.AuthFlow != "ADMIN_USER_PASSWORD_AUTH":
			refuse("InvalidParameterException")
		case password == "" || p.users[name] != password:
			refuse("NotAuthorizedException")
		case !p.permanent[name]:
			fmt.Fprint(w, `{"ChallengeName":"NEW_PASSWORD_REQUIRED"}`)
		default:
			fmt.Fprintf(w, `{"AuthenticationResult":{"AccessToken":"token of %s"}}`, name)
		}
	default:
		refuse("UnknownOperationException")
	}
}

func placeOf(t *testing.T, p *cognitoStub) Place {
	t.Helper()
	p.users, p.permanent = map[string]string{}, map[string]bool{}
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
