// Package issuer replaces the identity provider during development: it signs access
// tokens for anybody and publishes the key that verifies them.
//
// It implements OAuth's and OpenID Connect's formats and its own key file. It
// authenticates nobody, so it must only be reachable from this machine.
package issuer
