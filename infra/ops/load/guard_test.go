package load

import (
	"errors"
	"strings"
	"testing"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
)

func TestAStackOnAWSIsLoadedOnlyIfThatIsAllowed(t *testing.T) {
	for allowed, want := range map[bool]error{false: errRemote, true: nil} {
		if err := (&options{where: target.Flags{Env: "dev"}, allowRemote: allowed}).checkTarget(); !errors.Is(err, want) {
			t.Errorf("a stack on AWS, allowed %t: %v, want %v", allowed, err, want)
		}
	}
}

func TestTheDialledAddressIsChecked(t *testing.T) {
	c := client.New("http://192.0.2.1", client.Options{Transport: transport(false)})
	defer c.Close()
	if _, err := c.Buy(t.Context(), "s", "t", ""); !errors.Is(err, errRemote) {
		t.Errorf("%v, want %v", err, errRemote)
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	const remote = "http://192.0.2.1"
	for _, tt := range []struct {
		where target.Flags
		flags []string
	}{
		{target.Flags{}, []string{
			"--rate 0.01", "--rate NaN", "--rate 1e9", "--peak -1", "--duration 0s", "--duration 2h", "--shards 0", "--units 0", "--units 9", "--units 2-1", "--units 1-x", "--stock -1", "--stock x", "extra", "--report=", "--unknown",
			"--report " + t.TempDir(), "--report /none/a.html", "--report -", "--tokens /none", "--tokens " + t.TempDir(), "--sale s",
		}},
		{target.Flags{URL: remote}, []string{"", "--allow-remote --tokens f"}},
		{target.Flags{URL: "ftp://127.0.0.1"}, []string{""}},
		{target.Flags{Table: "T"}, []string{""}},
		{target.Flags{Env: "dev"}, []string{"", "--allow-remote"}},
	} {
		for _, flags := range tt.flags {
			if code, out := executed(t.Context(), new(options).rehearsing(&tt.where), strings.Fields(flags)...); code != cli.ExitUsage {
				t.Errorf("%+v %s: exit %d, want %d\n%s", tt.where, flags, code, cli.ExitUsage, out)
			}
		}
	}
}

func TestTokensAreReadFromAFile(t *testing.T) {
	for text, want := range map[string]string{ // tokens for two buyers; "": refused
		"a.b.c\nd.e.f\n": "a.b.c d.e.f", "\n  a.b.c \r\n\nd.e.f": "a.b.c d.e.f", "a\nb\nc\n": "a b",
		"a\n": "", "a\na\n": "", "a\x01b\nc\n": "", "a b\nc\n": "", strings.Repeat("a", maxToken+1) + "\nb\n": "",
	} {
		visits := make([]visit, 2)
		if err := readTokens(strings.NewReader(text), visits); (err == nil) != (want != "") || err == nil && visits[0].Token+" "+visits[1].Token != want {
			t.Errorf("%.20q: %+v, error %v", text, visits, err)
		}
	}
}
