package httpapi

import (
	"strings"
	"testing"

	"flashsale/shared/sale"
)

const secret = "correct-horse-battery-staple-and-more"

func TestOnlyRequestsWithTheSecretComeIn(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", secret)
	o, err := OriginFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		given Header
		want  sale.Code
	}{
		{"the secret", given(secret), ""},
		{"no header", Header{}, sale.Forbidden},
		{"an empty header", given(""), sale.Forbidden},
		{"another secret of the same length", given(strings.ToUpper(secret)), sale.Forbidden},
		{"the beginning of the secret", given(secret[:20]), sale.Forbidden},
		{"the secret and more", given(secret + "x"), sale.Forbidden},
		{"the secret twice, as the gateway joins headers", given(secret + "," + secret), sale.Forbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := o.Check(&Request{OriginVerify: tt.given})
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
	for _, h := range []Header{{}, given("anything")} {
		if err := o.Check(&Request{OriginVerify: h}); err != nil {
			t.Errorf("Check = %v", err)
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
