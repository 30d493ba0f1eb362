package gateway

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// JWT is a JWT authorizer with the identity source $request.header.Authorization.
type JWT struct {
	Issuer string
	// Audience lists the accepted audiences; a token needs one of them.
	Audience []string
	// Keys returns the public key with a token's key id, or an error if there is none.
	Keys func(kid string) (*rsa.PublicKey, error)
}

// authorizer is the event's requestContext.authorizer.
type authorizer struct {
	JWT struct {
		Claims map[string]string `json:"claims"`
		// Scopes is null for a route without scopes.
		Scopes []string `json:"scopes"`
	} `json:"jwt"`
}

// challenge is the reason why a token was refused.
type challenge struct {
	status      int
	code        string
	description string
}

// authorize verifies the token and the route's scopes. API Gateway documents no
// leeway for clocks, so there is none.
func (j *JWT) authorize(header, scopes []string, now time.Time) (*authorizer, *challenge) {
	token, ok := bearerToken(header)
	if !ok {
		return nil, &challenge{status: http.StatusUnauthorized}
	}
	claims, err := j.verify(token, now)
	if err != nil {
		return nil, &challenge{http.StatusUnauthorized, "invalid_token", strings.ReplaceAll(err.Error(), `"`, "'")}
	}
	a := &authorizer{}
	a.JWT.Claims = claimTexts(claims)
	if len(scopes) > 0 {
		text, _ := claims["scope"].(string)
		granted := strings.Fields(text)
		for _, s := range scopes {
			if slices.Contains(granted, s) {
				a.JWT.Scopes = append(a.JWT.Scopes, s)
			}
		}
		if a.JWT.Scopes == nil {
			return nil, &challenge{http.StatusForbidden, "insufficient_scope", "the token does not have a required scope"}
		}
	}
	return a, nil
}

// bearerToken returns the token of the Authorization header, whose scheme may be
// missing. Repeated headers are ambiguous and count as none.
func bearerToken(header []string) (string, bool) {
	if len(header) != 1 {
		return "", false
	}
	token := strings.Trim(header[0], " \t")
	if scheme, rest, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.Trim(rest, " \t")
	} else if strings.EqualFold(token, "Bearer") {
		return "", false
	}
	return token, token != ""
}

func (j *JWT) verify(token string, now time.Time) (jwt.MapClaims, error) {
	claims := jwt.MapClaims{}
	_, err := jwt.NewParser(
		// The list excludes "none", and HMAC with the public key as its secret.
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
		jwt.WithJSONNumber(),
		jwt.WithIssuer(j.Issuer),
		jwt.WithAudience(j.Audience...),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	).ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if kid == "" {
			return nil, errors.New("the token names no key")
		}
		return j.Keys(kid)
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// answer has the form of API Gateway's www-authenticate header.
func (c *challenge) answer(scopes []string) answer {
	a := refuse(c.status)
	text := "Bearer"
	if c.code != "" {
		text = fmt.Sprintf(`Bearer scope="%s" error="%s" error_description="%s"`, strings.Join(scopes, " "), c.code, c.description)
	}
	a.header.Set("Www-Authenticate", text)
	return a
}

// claimTexts renders claims as the event contains them: all are strings. A null claim
// is omitted, so that it cannot be mistaken for a value.
func claimTexts(claims map[string]any) map[string]string {
	texts := make(map[string]string, len(claims))
	for name, value := range claims {
		if value != nil {
			texts[name] = claimText(value)
		}
	}
	return texts
}

func claimText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = claimText(item)
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	return fmt.Sprint(value)
}
