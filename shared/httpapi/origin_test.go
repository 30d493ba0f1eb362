package httpapi

import (
	"strings"
	"testing"

	"flashsale/shared/sale"
)

const secret = "correct-horse-battery-staple-and-more"

func TestOnlyRequestsWithTheSecretComeIn(t *testing.T) {
	o, err := NewOrigin(secret)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		headers map[string]string
		want    sale.Code
	}{
		{"the secret", map[string]string{"x-origin-verify": secret}, ""},
		{"the secret under a name in capitals", map[string]string{"X-Origin-Verify": secret}, ""},
		{"no header", nil, sale.Forbidden},
		{"an empty header", map[string]string{"x-origin-verify": ""}, sale.Forbidden},
		{"another secret of the same length", map[string]string{"x-origin-verify": strings.ToUpper(secret)}, sale.Forbidden},
		{"the beginning of the secret", map[string]string{"x-origin-verify": secret[:20]}, sale.Forbidden},
		{"the secret and more", map[string]string{"x-origin-verify": secret + "x"}, sale.Forbidden},
		{"the secret twice, as the gateway joins headers", map[string]string{"x-origin-verify": secret + "," + secret}, sale.Forbidden},
		{"the secret in another header", map[string]string{"x-origin": secret, "authorization": secret}, sale.Forbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := o.Check(&Request{Headers: tt.headers})
			if sale.CodeOf(err) != tt.want {
				t.Errorf("Check = %v, want code %q", err, tt.want)
			}
			if err == nil {
				return
			}
			if r := Problem(err, ""); r.StatusCode != 403 || strings.Contains(r.Body+err.Error(), secret) {
				t.Errorf("%d %s, want 403 without the secret", r.StatusCode, r.Body)
			}
		})
	}
}

func TestWithoutASecretEverybodyComesIn(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", "")
	o, err := OriginFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	for _, headers := range []map[string]string{nil, {"x-origin-verify": "anything"}} {
		if err := o.Check(&Request{Headers: headers}); err != nil {
			t.Errorf("Check = %v", err)
		}
	}
}

func TestTheSecretOfTheEnvironmentIsExpected(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", secret)
	o, err := OriginFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Check(&Request{Headers: map[string]string{"x-origin-verify": secret}}); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := o.Check(&Request{}); sale.CodeOf(err) != sale.Forbidden {
		t.Errorf("Check without a header = %v, want forbidden", err)
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
