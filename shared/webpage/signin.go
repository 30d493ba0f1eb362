package webpage

import (
	"fmt"
	"os"
)

// SignIn tells the page how people sign in: OpenID Connect's code flow with PKCE. The
// zero SignIn offers none.
type SignIn struct {
	// Authorize, Token and Logout are the identity provider's endpoints. They may be
	// relative to the page's origin. Logout may be empty.
	Authorize, Token, Logout string
	ClientID, Scope          string
	// Origin is the page's own origin as the identity provider knows it; the callback is
	// its /signin. Empty means any origin under which the page is served.
	Origin string
}

// SignInFromEnv reads the environment. It fails for an incomplete configuration, so that
// a misconfigured function fails at start (P19).
func SignInFromEnv() (SignIn, error) {
	s := SignIn{
		Authorize: os.Getenv("SIGNIN_AUTHORIZE_URL"), Token: os.Getenv("SIGNIN_TOKEN_URL"),
		Logout: os.Getenv("SIGNIN_LOGOUT_URL"), ClientID: os.Getenv("SIGNIN_CLIENT_ID"), Scope: os.Getenv("SIGNIN_SCOPE"),
		Origin: os.Getenv("PAGE_ORIGIN"),
	}
	if s.Authorize == "" {
		return SignIn{}, nil
	}
	if s.Token == "" || s.ClientID == "" || s.Scope == "" {
		return SignIn{}, fmt.Errorf("SIGNIN_AUTHORIZE_URL needs SIGNIN_TOKEN_URL, SIGNIN_CLIENT_ID and SIGNIN_SCOPE")
	}
	for _, endpoint := range []string{s.Authorize, s.Token, s.Logout} {
		if _, err := originOf(endpoint); err != nil {
			return SignIn{}, err
		}
	}
	return s, nil
}
