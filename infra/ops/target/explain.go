package target

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
)

const (
	missing   = "there are no AWS credentials: set AWS_PROFILE, or sign in, for example with `aws sso login`"
	signedOut = "you are not signed in to AWS, or no longer: `aws sso login` first"
	loggedOut = "you are not signed in to AWS, or no longer: `aws login` first"
	denied    = "AWS does not allow it to these credentials"
	throttled = "AWS takes no more calls at the moment: repeat the command"
)

// codes are sentences by the codes of services' errors. Services have different ones for the same.
var codes = map[string][]string{
	"the AWS credentials have expired: sign in again, for example with `aws sso login`": {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"},
	"AWS does not know these credentials: look at AWS_PROFILE":                          {"UnrecognizedClient", "UnrecognizedClientException", "InvalidClientTokenId", "SignatureDoesNotMatch", "InvalidSignatureException"},
	denied:    {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "ForbiddenException"},
	throttled: {"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDownException"},
}

// ended are the codes with which SSO refuses a session that was signed in to once.
var ended = []string{"InvalidGrantException", "ExpiredTokenException", "UnauthorizedException", "UnauthorizedClientException", "InvalidClientException"}

// explained is an error in a sentence for whom it meets.
type explained struct {
	error
	sentence string
	account  bool // it is of the account
}

func (e explained) Error() string { return e.sentence }
func (e explained) Unwrap() error { return e.error }

// IsUnusable reports whether an error is of credentials that do not do: the same again meets the same.
func IsUnusable(err error) bool {
	e, ok := errors.AsType[explained](Explain(err))
	return ok && e.account
}

// refresh is how the SDK begins to say that it could not get credentials, for a call or before any.
const refresh = "failed to refresh cached credentials, "

// Explain says in one sentence what to do about credentials that do not do, and about what does not answer. It
// returns other errors as they are.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	_, inner, isRefresh := strings.Cut(text, refresh)
	if e, ok := errors.AsType[explained](err); ok {
		if isRefresh { // and the SDK has wrapped it
			return e
		}
		return err
	}
	before, _, isCall := strings.Cut(text, "operation error ")
	if !isCall {
		before = ""
	}
	before, _, _ = strings.Cut(before, refresh)
	of := func(sentence string, account bool) error { return explained{err, before + sentence, account} } // before: what could not be done
	said, answered := errors.AsType[smithy.APIError](err)
	to, asked := errors.AsType[*url.Error](err)
	profile, isUnknown := errors.AsType[config.SharedConfigProfileNotExistError](err)
	source, isEmpty := errors.AsType[config.SharedConfigAssumeRoleError](err)
	switch {
	case isUnknown:
		return of(fmt.Sprintf("there is no AWS profile %s: look at AWS_PROFILE, and at source_profile in ~/.aws/config", profile.Profile), true)
	case isEmpty:
		return of(fmt.Sprintf("the AWS profile %s, source_profile of one with the role %s, has no credentials: look at ~/.aws/config", source.Profile, source.RoleARN), true)
	case strings.Contains(text, "no EC2 IMDS role found"):
		return of(missing, true)
	case strings.Contains(text, "parse failed of process output"): // the SDK quotes it, secrets, too
		return of("what the AWS profile's credential_process prints is not its JSON alone: look at ~/.aws/config", true)
	case strings.Contains(text, "please reauthenticate"):
		return of(loggedOut, true)
	case answered && isRefresh && slices.Contains(ended, said.ErrorCode()), !answered && !asked && strings.Contains(text, "SSO token"), errors.As(err, new(*ssocreds.InvalidTokenError)):
		return of(signedOut, true)
	case answered:
		for sentence, all := range codes {
			if slices.Contains(all, said.ErrorCode()) {
				return of(sentence+detail(sentence, said), sentence != throttled)
			}
		}
		inner = said.ErrorCode() + ": " + said.ErrorMessage()
	case asked:
		sentence := fmt.Sprintf("%s does not answer: %v", to.URL, to.Err)
		if u, err := url.Parse(to.URL); err == nil {
			sentence = fmt.Sprintf("%s://%s does not answer: %v", u.Scheme, u.Host, to.Err)
		}
		if errors.Is(err, client.ErrNoSystem) && !isCall {
			sentence += "; `make run` starts a local stack, and --env or --stack names one on AWS"
		}
		return of(sentence, false)
	case errors.Is(err, context.DeadlineExceeded):
		return of("AWS did not answer in time: repeat the command", false)
	}
	if isRefresh {
		return of("the AWS credentials could not be got: "+cli.OneLine(errors.New(inner)).Error(), true)
	}
	return err
}

// detail is what a service's error says besides, where that tells more.
func detail(sentence string, said smithy.APIError) string {
	switch _, who, ok := strings.Cut(said.ErrorMessage(), "User: "); {
	case sentence == throttled:
		return " (" + said.ErrorCode() + ")"
	case sentence == denied && ok:
		return ": " + who
	case sentence == denied:
		return ": " + strings.TrimSpace(said.ErrorMessage())
	}
	return ""
}
