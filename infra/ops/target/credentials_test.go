package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/target/targettest"
)

// profiles of ~/.aws/config, one of each kind.
const profiles = `
[profile signed]
sso_session = shop
sso_account_id = 1
sso_role_name = ops
region = us-west-2
[sso-session shop]
sso_start_url = https://sso.test/start
sso_region = us-east-1
[profile older]
sso_start_url = https://sso.test/start
sso_region = us-east-1
sso_account_id = 1
sso_role_name = ops
[profile login]
login_session = arn:aws:iam::1:user/ada
[profile keys]
aws_access_key_id = AKID
aws_secret_access_key = SECRET
[profile role]
role_arn = arn:aws:iam::1:role/ops
source_profile = keys
[profile mfa]
role_arn = arn:aws:iam::1:role/ops
source_profile = keys
mfa_serial = arn:aws:iam::1:mfa/ada
[profile loop]
role_arn = arn:aws:iam::1:role/ops
source_profile = back
[profile back]
role_arn = arn:aws:iam::1:role/other
source_profile = loop
[profile dangling]
role_arn = arn:aws:iam::1:role/ops
source_profile = nobody
[profile process]
credential_process = /bin/sh -c "exit 3"
[profile chatty]
credential_process = /bin/echo hello {"SecretAccessKey":"S"}
`

// as signs in with a profile, where these services are AWS.
func as(t *testing.T, profile string, services http.HandlerFunc) {
	t.Helper()
	targettest.Account(t, services)
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "AWS_CONFIG_FILE": targettest.File(t, filepath.Join(home, "config"), profiles), "AWS_ACCESS_KEY_ID": "", "AWS_PROFILE": profile} {
		t.Setenv(name, value)
	}
	pause = 0
	Terminal = func() (io.ReadWriteCloser, error) { return nil, errors.New("no such device") }
	t.Cleanup(func() { pause = Pause })
}

// token keeps an SSO session's token, of which nothing is left but what refreshes it if it is expired.
func token(t *testing.T, expires time.Time, refresh string) {
	t.Helper()
	path, err := ssocreds.StandardCachedTokenFilepath("shop")
	if err != nil {
		t.Fatal(err)
	}
	targettest.File(t, path, fmt.Sprintf(`{"accessToken":"t","expiresAt":%q,"clientId":"c","clientSecret":"s"%s}`, expires.UTC().Format(time.RFC3339), refresh))
}

// assumed is STS's answer to AssumeRole, and stack CloudFormation's to DescribeStacks.
const (
	assumed = `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>` +
		`<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`
	stack = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs><member><OutputKey>ApiUrl</OutputKey><OutputValue>https://a.test</OutputValue></member>` +
		`<member><OutputKey>TableName</OutputKey><OutputValue>T</OutputValue></member><member><OutputKey>SeedFunctionName</OutputKey><OutputValue>S</OutputValue></member>` +
		`<member><OutputKey>OperateFunctionName</OutputKey><OutputValue>O</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
)

func TestWhyCredentialsDoNotDoIsOneSentence(t *testing.T) {
	refuse := func(code, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { targettest.Refuse(w, r, code, message) }
	}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	none := func(*testing.T) {}
	expired := func(t *testing.T) { token(t, past, `,"refreshToken":"r"`) }
	valid := func(t *testing.T) { token(t, future, "") }
	dead := func(t *testing.T) {
		t.Setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
		t.Setenv("AWS_ENDPOINT_URL_SSO_OIDC", "http://127.0.0.1:1")
	}
	for _, tt := range []struct {
		name, profile string
		prepare       func(*testing.T)
		services      http.HandlerFunc
		want          string
	}{
		{"nothing at all", "", none, nil, missing},
		{"an EC2 address at which nobody answers", "", func(t *testing.T) {
			t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1")
		}, nil, missing},
		{"a profile that is not there", "none", none, nil, "there is no AWS profile none: look at AWS_PROFILE, and at source_profile in ~/.aws/config"},
		{"a source profile that is not there", "dangling", none, nil, "there is no AWS profile nobody: look at AWS_PROFILE, and at source_profile in ~/.aws/config"},
		{"two profiles that are each other's source", "loop", none, nil, "the AWS profile loop, source_profile of one with the role arn:aws:iam::1:role/other, has no credentials: look at ~/.aws/config"},
		{"an SSO session that nobody has signed in to", "signed", none, nil, signedOut},
		{"an SSO profile of the older kind, likewise", "older", none, nil, signedOut},
		{"an SSO session that is over", "signed", func(t *testing.T) { token(t, past, "") }, nil, signedOut},
		{"one whose renewal is refused", "signed", expired, refuse("InvalidGrantException", ""), signedOut},
		{"one whose renewal reaches nobody", "signed", func(t *testing.T) { expired(t); dead(t) }, nil, "http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"one whose renewal is throttled", "signed", expired, refuse("SlowDownException", ""), throttled + " (SlowDownException)"},
		{"one that was ended elsewhere", "signed", valid, refuse("UnauthorizedException", "Session token not found or invalid"), signedOut},
		{"one that may not have the role", "signed", valid, refuse("ForbiddenException", "No access"), denied + ": No access"},
		{"a login that is over", "login", none, nil, loggedOut},
		{"a role that may not be assumed", "role", none, refuse("AccessDenied", "User: arn:aws:iam::1:user/ada is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::1:role/ops"),
			denied + ": arn:aws:iam::1:user/ada is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::1:role/ops"},
		{"a role, throttled", "role", none, refuse("Throttling", "Rate exceeded"), throttled + " (Throttling)"},
		{"a role of keys that have expired", "role", none, refuse("ExpiredToken", "The security token"), "the AWS credentials have expired: sign in again, for example with `aws sso login`"},
		{"a role of keys that AWS does not know", "role", none, refuse("InvalidClientTokenId", "The security token"), "AWS does not know these credentials: look at AWS_PROFILE"},
		{"a role in a region that is off", "role", none, refuse("RegionDisabledException", "STS is not activated in this region"), "the AWS credentials could not be got: RegionDisabledException: STS is not activated in this region"},
		{"a role, without a network", "role", dead, nil, "http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"a role with an MFA device, without a terminal", "mfa", none, nil, "the AWS profile's role takes a code of the MFA device arn:aws:iam::1:mfa/ada, and there is no terminal to ask for it: " +
			"run this on one, or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of a session"},
		{"a program that gives none", "process", none, nil, "the AWS credentials could not be got: process provider error: error in credential_process: exit status 3"},
		{"a program that says more, beside a secret", "chatty", none, nil, "what the AWS profile's credential_process prints is not its JSON alone: look at ~/.aws/config"},
		{"no region", "keys", func(t *testing.T) { t.Setenv("AWS_REGION", "") }, nil, "no AWS region is known: set AWS_REGION"},
		{"a stack that the keys may not see", "keys", none, refuse("AccessDenied", "User: ada is not authorized to perform: cloudformation:DescribeStacks"),
			"stack shop: " + denied + ": ada is not authorized to perform: cloudformation:DescribeStacks"},
		{"something else that does not exist", "keys", none, refuse("ValidationError", "Token for s does not exist"),
			"stack shop: operation error CloudFormation: DescribeStacks, https response error StatusCode: 400, RequestID: , api error ValidationError: Token for s does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			as(t, tt.profile, func(w http.ResponseWriter, r *http.Request) {
				if tt.services == nil {
					t.Errorf("asked for %s %s", r.Method, r.URL)
					return
				}
				tt.services(w, r)
			})
			tt.prepare(t)
			if _, err := Find(t.Context(), Wanted{Stack: "shop"}); err == nil || err.Error() != tt.want || errors.Is(err, client.ErrNoSystem) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestAStackIsMissingInTheRegionThatWasAsked(t *testing.T) {
	for _, tt := range []struct{ name, given, variable, other, profile, want string }{
		{"of the environment in the file", "eu-west-1", "us-east-1", "", "signed", "eu-west-1"},
		{"AWS_REGION", "", "ap-east-1", "us-east-1", "signed", "ap-east-1"},
		{"AWS_DEFAULT_REGION", "", "", "us-east-1", "signed", "us-east-1"},
		{"of the profile", "", "", "", "signed", "us-west-2"},
	} {
		as(t, tt.profile, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/federation") {
				fmt.Fprint(w, `{"roleCredentials":{"accessKeyId":"A","secretAccessKey":"S","sessionToken":"T","expiration":4070908800000}}`)
				return
			}
			if got := targettest.RegionOf(r); got != tt.want {
				t.Errorf("%s: CloudFormation is asked in %s, want %s", tt.name, got, tt.want)
			}
			targettest.Refuse(w, r, "ValidationError", "Stack with id shop does not exist")
		})
		token(t, time.Now().Add(time.Hour), "")
		t.Setenv("AWS_REGION", tt.variable)
		t.Setenv("AWS_DEFAULT_REGION", tt.other)
		_, err := Find(t.Context(), Wanted{Stack: "shop", Region: tt.given})
		if want := "there is no stack shop in the region " + tt.want + " of the account"; !errors.Is(err, client.ErrNoSystem) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tt.name, err, want)
		}
	}
}

// seat is a terminal at which somebody types.
type seat struct {
	io.Reader
	strings.Builder
}

func (s *seat) Read(b []byte) (int, error) { return s.Reader.Read(b) }
func (s *seat) Close() error               { return nil }

func TestACodeOfAnMFADeviceIsAskedForOnce(t *testing.T) {
	var calls []string
	services := func(w http.ResponseWriter, r *http.Request) {
		action := r.FormValue("Action")
		calls = append(calls, action)
		switch {
		case action == "AssumeRole" && (r.FormValue("TokenCode") != "123456" || r.FormValue("SerialNumber") != "arn:aws:iam::1:mfa/ada" || r.FormValue("DurationSeconds") != "3600"):
			targettest.Refuse(w, r, "AccessDenied", "MultiFactorAuthentication failed with invalid MFA one time pass code. ")
		case action == "AssumeRole":
			fmt.Fprint(w, assumed)
		case action == "DescribeStacks":
			fmt.Fprint(w, stack)
		case action == "GetCallerIdentity":
			fmt.Fprint(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:ada</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>")
		default:
			fmt.Fprint(w, "{}")
		}
	}
	const question = "Code of the MFA device arn:aws:iam::1:mfa/ada: "
	as(t, "mfa", services)
	at := &seat{Reader: strings.NewReader("123456\n")}
	Terminal = func() (io.ReadWriteCloser, error) { return at, nil }
	p, err := Find(t.Context(), Wanted{Stack: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	o := p.Operator(t.Context())
	if err := p.Ask(t.Context(), client.OperateFunction, 1, nil); err != nil || o.Actor != "arn:ada" || at.String() != question {
		t.Errorf("%v, asked %q as %s, want %q once as arn:ada", err, at.String(), o.Actor, question)
	}
	// Whoever stops a sale waits for two calls before the function's, once there are credentials.
	if got := strings.Join(calls, " "); got != "AssumeRole DescribeStacks GetCallerIdentity " {
		t.Errorf("the calls before the function's are %q", got)
	}
	for typed, want := range map[string]string{
		"000000\n": denied + ": MultiFactorAuthentication failed with invalid MFA one time pass code.",
		"\n":       "no code of the MFA device was given",
	} {
		as(t, "mfa", services)
		at := &seat{Reader: strings.NewReader(typed)}
		Terminal = func() (io.ReadWriteCloser, error) { return at, nil }
		if _, err := Find(t.Context(), Wanted{Stack: "shop"}); err == nil || err.Error() != want {
			t.Errorf("typed %q: %v, want %s", typed, err, want)
		}
	}
	as(t, "mfa", services)
	silent, _ := io.Pipe()
	Terminal = func() (io.ReadWriteCloser, error) { return &seat{Reader: silent}, nil }
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := Find(ctx, Wanted{Stack: "shop"}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v, want %v", err, context.Canceled)
	}
}
