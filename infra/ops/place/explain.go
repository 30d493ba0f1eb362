package place

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"

	"flashsale/infra/kit/client"
)

const (
	expired = "the AWS credentials have expired: sign in again, for example with `aws sso login`"
	missing = "there are no AWS credentials: set AWS_PROFILE, or sign in, for example with `aws sso login`"
	foreign = "AWS does not know these credentials: look at AWS_PROFILE"
	nowhere = "no AWS region is known: set AWS_REGION"
	denied  = "AWS does not allow it to these credentials"
)

// troubles are sentences by the words with which the AWS CLI and the SDK, which has no types for all of them,
// tell of the same.
var troubles = []struct{ words, sentence string }{
	{"ExpiredToken", expired}, {"RequestExpired", expired}, {"TokenRefreshRequired", expired}, {"refresh cached SSO token", expired},
	{"SSO session associated with this profile has expired", expired}, {"Error loading SSO Token", expired},
	{"Unable to locate credentials", missing}, {"failed to refresh cached credentials", missing},
	{"UnrecognizedClient", foreign}, {"InvalidClientTokenId", foreign}, {"SignatureDoesNotMatch", foreign},
	{"Missing Region", nowhere}, {"must specify a region", nowhere},
	{"AccessDenied", denied}, {"UnauthorizedOperation", denied},
}

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

// Explain says in one sentence what to do about credentials that do not do, and about what does not answer. It
// returns other errors as they are.
func Explain(err error) error {
	if err == nil || errors.As(err, new(explained)) {
		return err
	}
	text := err.Error()
	for _, t := range troubles {
		if !strings.Contains(text, t.words) {
			continue
		}
		sentence := t.sentence
		if before, _, ok := strings.Cut(text, "operation error "); ok {
			sentence = before + sentence // what could not be done
		}
		if _, who, ok := strings.Cut(text, "User: "); ok && t.sentence == denied {
			sentence += ": " + who
		}
		return explained{err, sentence, true}
	}
	to, isCall := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return explained{err, "the AWS CLI, aws, is not on the PATH, and what is on AWS is found with it: https://aws.amazon.com/cli", true}
	case errors.Is(err, context.DeadlineExceeded) && !isCall:
		before, _, _ := strings.Cut(text, "operation error ")
		if before == text {
			before = ""
		}
		return explained{err, before + "AWS did not answer in time: repeat the command", false}
	case !isCall:
		return err
	}
	sentence := fmt.Sprintf("%s does not answer: %v", to.URL, to.Err)
	if u, err := url.Parse(to.URL); err == nil {
		sentence = fmt.Sprintf("%s://%s does not answer: %v", u.Scheme, u.Host, to.Err)
	}
	if errors.Is(err, client.ErrNoSystem) {
		sentence += "; `make run` starts a local stack, and --env or --stack names one on AWS"
	}
	return explained{err, sentence, false}
}
