package httpapi

import (
	"strings"
	"testing"

	"flashsale/shared/sale"
)

const secret = "correct-horse-battery-staple-and-more"

// with are headers with that secret.
func with(secret string) map[string]string { return map[string]string{"x-origin-verify": secret} }

func TestOnlyRequestsWithTheSecretComeIn(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", secret)
	o, err := OriginFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		given map[string]string
		want  sale.Code
	}{
		{"the secret", with(secret), ""},
		{"no header", nil, sale.Forbidden},
		{"an empty header", with(""), sale.Forbidden},
		{"another secret of the same length", with(strings.ToUpper(secret)), sale.Forbidden},
		{"the beginning of the secret", with(secret[:20]), sale.Forbidden},
		{"the secret and more", with(secret + "x"), sale.Forbidden},
		{"the secret twice, as the gateway joins headers", with(secret + "," + secret), sale.Forbidden},
	} {
		err := o.Check(&Request{Headers: tt.given})
		if sale.CodeOf(err) != tt.want {
			t.Errorf("%s: Check = %v, want code %q", tt.name, err, tt.want)
		} else if r := Problem(err, ""); err != nil && (r.StatusCode != 403 || strings.Contains(r.Body+err.Error(), secret)) {
			t.Errorf("%s: %d %s, want 403 without the secret", tt.name, r.StatusCode, r.Body)
		}
	}
}

func TestAGuessableSecretIsRefusedAndNotTold(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", "tooshort")
	_, err := OriginFromEnv()
	if err == nil || strings.Contains(err.Error(), "tooshort") || !strings.HasPrefix(err.Error(), "ORIGIN_SECRET") {
		t.Errorf("err = %v, want one that names the variable and not its value", err)
	}
	if _, err := NewOrigin(strings.Repeat("s", minSecret)); err != nil {
		t.Errorf("a secret of %d bytes: %v", minSecret, err)
	}
}
