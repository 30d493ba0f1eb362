package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/user"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target/targettest"
)

// deployedAt is the stack shop in an account whose services the handler is.
func deployedAt(t *testing.T, services http.HandlerFunc) Target {
	t.Helper()
	targettest.Account(t, services)
	targettest.Stack(t, nil)
	pause = 0
	t.Cleanup(func() { pause = Pause })
	p, err := Find(t.Context(), Wanted{Stack: "shop", Region: targettest.Region})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestADeployedStackIsFoundByItsName(t *testing.T) {
	targettest.Offline(t)
	for _, tt := range []struct{ name, url, front, want string }{
		{"by its API", "", "", "https://abc.test"},
		{"behind a front", "", "https://cdn.test", "https://cdn.test"},
		{"at an address of its own", "https://own.test", "https://cdn.test", "https://own.test"},
	} {
		targettest.Stack(t, map[string]string{"FrontUrl": tt.front})
		p, err := Find(t.Context(), Wanted{Stack: "shop", URL: tt.url, Region: targettest.Region})
		if err != nil || p.API != tt.want || p.Table != "shop-T" || p.EventBus != "shop-orders" || p.Version != "0.6.0" || p.Functions[client.SeedFunction] != "shop-Seed" || p.Local {
			t.Errorf("%s: %+v, %v, want %s", tt.name, p, err, tt.want)
		}
		want := map[string]map[string]string{
			"AWS::IAM::Role": {"R": "r"}, "AWS::Cognito::UserPool": {"UserPool": "pool"}, "AWS::Cognito::UserPoolClient": {"UserPoolClient": "client"},
		}
		got, err := p.Parts(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("parts: %v (-want +got):\n%s", err, diff)
		}
	}
}

func TestAQuestionNamesTheSystemAndItsEnvironment(t *testing.T) {
	on := func(stack string) Target { return Target{Stack: stack, AWS: aws.Config{Region: "eu-west-1"}} }
	for want, name := range map[string]string{
		"stack shop, environment prod, in eu-west-1": (&Flags{Env: "prod"}).Name(on("shop")),
		"stack shop, in eu-west-1":                   (&Flags{Stack: "shop"}).Name(on("shop")),
		"table T in eu-west-1":                       (&Flags{Table: "T"}).Name(on("")),
		"the local stack at http://127.0.0.1:3000":   (&Flags{URL: LocalURL}).Name(Target{System: client.System{Local: true, Client: client.New(LocalURL, client.Options{})}}),
		"the system at https://a.test":               (&Flags{URL: "https://a.test"}).Name(Target{}),
	} {
		if name != want {
			t.Errorf("got %q, want %q", name, want)
		}
	}
}

func TestTwoDefaultsThatNameTwoSystemsAreRefused(t *testing.T) {
	const env, address = "prod", "http://127.0.0.1:3000"
	for _, tt := range []struct {
		env, url string
		f, want  Flags // want is empty: refused
	}{
		{env, address, Flags{}, Flags{}},
		{env, "", Flags{}, Flags{Env: env}},
		{"", address, Flags{}, Flags{URL: address}},
		{env, address, Flags{Env: "dev"}, Flags{Env: "dev"}},
		{env, address, Flags{Stack: "s"}, Flags{Stack: "s"}},
		{env, address, Flags{Table: "T"}, Flags{Table: "T"}},
		{env, address, Flags{URL: "https://a.test"}, Flags{URL: "https://a.test"}},
	} {
		t.Setenv("FLASHSALE_ENV", tt.env)
		t.Setenv("FLASHSALE_URL", tt.url)
		f := tt.f
		err := f.Check()
		if refused := tt.want == (Flags{}); refused != (cli.Code(err) == cli.ExitUsage) || !refused && f != tt.want {
			t.Errorf("FLASHSALE_ENV=%s FLASHSALE_URL=%s %+v: %+v, %v, want %+v", tt.env, tt.url, tt.f, f, err, tt.want)
		}
	}
}

func TestAMissingSystemIsAnError(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer other.Close()
	targettest.Offline(t)
	targettest.Stack(t, map[string]string{"TableName": ""})
	for _, w := range []Wanted{{}, {URL: "127.0.0.1:3000"}, {URL: "ftp://x.test"}, {URL: "http://127.0.0.1:1"}, {URL: other.URL}, {Stack: "none"}, {Stack: "shop", Region: targettest.Region}} {
		if p, err := Find(t.Context(), w); !errors.Is(err, client.ErrNoSystem) {
			t.Errorf("%+v: %+v, %v; want %v", w, p, err, client.ErrNoSystem)
		}
	}
}

// What services say of credentials is told in TestWhyCredentialsDoNotDoIsOneSentence.
func TestTroublesWithACallAreOneSentence(t *testing.T) {
	late := &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Query", Err: fmt.Errorf("canceled, %w", context.DeadlineExceeded)}
	for want, err := range map[string]error{
		"the table T cannot be read: AWS did not answer in time: repeat the command": fmt.Errorf("the table T cannot be read: %w", late),
		"the order is expired, and its AccessDenied":                                 errors.New("the order is expired, and its AccessDenied"),
	} {
		if got := Explain(err); got.Error() != want {
			t.Errorf("%v is explained as %q, want %q", err, got, want)
		}
	}
}

func TestADeployedFunctionIsInvokedByItsName(t *testing.T) {
	p := deployedAt(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); r.URL.Path == "/2015-03-31/functions/shop-Seed/invocations" {
			fmt.Fprintf(w, `{"asked":%s}`, body)
			return
		}
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		fmt.Fprint(w, `{"errorType":"busy","errorMessage":"busy: later"}`)
	})
	var answer struct{ Asked map[string]string }
	if err := p.Ask(t.Context(), client.SeedFunction, map[string]string{"action": "pause"}, &answer); err != nil || answer.Asked["action"] != "pause" {
		t.Errorf("%+v, %v", answer, err)
	}
	var refusal *client.Refusal
	if err := p.Ask(t.Context(), client.ReconcileFunction, 1, nil); !errors.As(err, &refusal) || refusal.Code != "busy" {
		t.Errorf("%v, want the function's own error", err)
	}
	if err := p.Ask(t.Context(), client.OperateFunction, 1, nil); err == nil || !strings.Contains(err.Error(), "do not name OperateFunction") {
		t.Errorf("a function that the outputs do not name: %v", err)
	}
}

func TestARemoteAddressIsUsedAsGiven(t *testing.T) {
	p, err := Find(t.Context(), Wanted{URL: "https://abc.test/"})
	if err != nil || p.Local || p.API != "https://abc.test" {
		t.Errorf("%+v, %v", p, err)
	}
	if err := p.Seed(t.Context(), client.Sale{ID: "s"}); !errors.Is(err, client.ErrNoFunctions) {
		t.Errorf("a sale was seeded though no function is known: %v", err)
	}
	if _, err := p.Tokens(t.Context(), "a", 1); !errors.Is(err, ErrNoIssuer) {
		t.Errorf("tokens of a system without a user pool: %v, want %v", err, ErrNoIssuer)
	}
}

// The SDK's own retryer has given up after a sixth of a second.
func TestACommandWaitsTwoSecondsBeforeItCallsAWSAgain(t *testing.T) {
	r := Retryer(Pause)
	for try := range r.MaxAttempts() {
		if pause, err := r.RetryDelay(try+1, io.ErrUnexpectedEOF); pause != 2*time.Second || err != nil {
			t.Errorf("%v after try %d (%v), want 2 s", pause, try+1, err)
		}
	}
	if r.MaxAttempts() != 3 || !r.IsErrorRetryable(&net.OpError{Op: "dial", Err: errors.New("no route")}) {
		t.Errorf("%d tries, want 3, also of a call that reaches nobody", r.MaxAttempts())
	}
}

func TestACallerIsNamedByTheAccountAndElseByTheMachine(t *testing.T) {
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var arn string
	p := deployedAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") != "GetCallerIdentity" || arn == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>", arn)
	})
	const ada = "arn:aws:sts::1:assumed-role/ops/ada"
	long := strings.Repeat("p", 300) + "/ada"
	for says, want := range map[string]string{ada: ada, "": own.Username, long: long[len(long)-256:]} {
		arn = says
		if o := p.Operator(t.Context()); o.Actor != want {
			t.Errorf("STS says %q: got %q, want %q", says, o.Actor, want)
		}
	}
	var health *httptest.Server
	health = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"lambda":%q,"table":"LedgerTable"}`, health.URL)
	}))
	defer health.Close()
	local, err := Find(t.Context(), Wanted{URL: health.URL})
	if err != nil {
		t.Fatal(err)
	}
	if o, want := local.Operator(t.Context()), (client.Operator{Client: local.Client, Actor: own.Username}); o != want {
		t.Errorf("on the local stack: got %+v, want %+v", o, want)
	}
}

// cognitoOf implements the Cognito calls that are made here, as the template's user pool answers them; the
// first one it throttles.
func cognitoOf(allowed bool) http.HandlerFunc {
	var mu sync.Mutex
	throttled, passwords := false, map[string]string{} // permanent ones, by user
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var in struct {
			UserPoolId, Username, Password, ClientId, AuthFlow, MessageAction string
			Permanent                                                         bool
			AuthParameters                                                    map[string]string
		}
		err := json.NewDecoder(r.Body).Decode(&in)
		_, known := passwords[in.Username]
		lacks := func(is func(rune) bool) bool { return !strings.ContainsFunc(in.Password, is) }
		name, password := in.AuthParameters["USERNAME"], in.AuthParameters["PASSWORD"]
		refusal, answer := "", "{}"
		switch call := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSCognitoIdentityProviderService."); {
		case !throttled:
			throttled, refusal = true, "TooManyRequestsException"
		case err != nil || in.UserPoolId != "pool":
			refusal = "ResourceNotFoundException"
		case call == "AdminCreateUser" && known:
			refusal = "UsernameExistsException"
		case call == "AdminCreateUser" && in.MessageAction == "SUPPRESS": // else a mail would be sent
			passwords[in.Username] = ""
		case call == "AdminSetUserPassword" && (!known || !in.Permanent || lacks(unicode.IsLower) || lacks(unicode.IsUpper) || lacks(unicode.IsDigit)):
			refusal = "InvalidPasswordException"
		case call == "AdminSetUserPassword":
			passwords[in.Username] = in.Password
		case in.ClientId != "client" || !allowed || in.AuthFlow != "ADMIN_USER_PASSWORD_AUTH":
			refusal = "InvalidParameterException"
		case password == "" || passwords[name] != password:
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
}

func TestEachUserGetsTheirOwnTokenAndUsersAreReused(t *testing.T) {
	p := deployedAt(t, cognitoOf(true))
	first, err := p.Tokens(t.Context(), "buyer", 20)
	if err != nil || len(first) != 20 || first[0] != "token of buyer-000001@test.invalid" || len(slices.Compact(slices.Clone(first))) != 20 {
		t.Errorf("tokens %q, %v", first, err)
	}
	again, err := p.Tokens(t.Context(), "buyer", 20)
	if err != nil || !slices.Equal(first, again) {
		t.Errorf("again: %q, %v", again, err)
	}
	for _, n := range []int{-1, 0, maxUsers + 1} {
		if _, err := p.Tokens(t.Context(), "buyer", n); err == nil {
			t.Errorf("%d tokens were made", n)
		}
	}
	refusing := deployedAt(t, cognitoOf(false))
	if _, err := refusing.Tokens(t.Context(), "buyer", 1); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("%v, want ErrNotAllowed", err)
	}
}
