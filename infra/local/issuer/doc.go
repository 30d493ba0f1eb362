// Package issuer stands in for the identity provider while developing: it signs
// access tokens for whoever asks and publishes the key that verifies them.
//
// It knows OAuth's and OpenID Connect's formats and its own key file, not who
// verifies its tokens. It authenticates nobody, so it must only be reachable
// from this machine.
package issuer
