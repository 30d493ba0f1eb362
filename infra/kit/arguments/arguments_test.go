package arguments

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func flagSet(out *bytes.Buffer) *flag.FlagSet {
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	f.SetOutput(out)
	f.Int("stock", 0, "units in `bottles`")
	f.Uint64("seed", 0, "")
	f.Float64("rate", 0, "buyers a second")
	f.Duration("duration", 0, "")
	f.Bool("json", false, "")
	f.String("user", "", "")
	f.String("note", "", "")
	f.Func("parameters", "", func(string) error { return errors.New("want\nName=value") })
	return f
}

func TestAnErrorIsOneLineThatNamesTheVariable(t *testing.T) {
	for _, tt := range []struct {
		args, environment, want string
	}{
		{"-stock ten", "STOCK=ten", `STOCK is "ten"; it must be a whole number`},
		{"-stock ten", "", `-stock is "ten"; it must be a whole number`},
		{"-seed -1", "SEED=-1", `SEED is "-1"; it must be a whole number of at least 0`},
		{"-rate fast", "RATE=fast", `RATE is "fast"; it must be a number`},
		{"-duration 30", "DURATION=30", `DURATION is "30"; it must be a time such as 500ms, 30s or 5m`},
		{"-json=maybe", "", `-json is "maybe"; it must be true or false`},
		{"-parameters x", "PARAMETERS=x", `PARAMETERS is "x"; it must be different: want Name=value`},
		{"-user", "BUYER=alice", "BUYER has no value"},
		{"-colour red", "COLOUR=red", "there is no option -colour (-h lists them)"},
		{"-user alice\u00a0", "BUYER=alice\u00a0", `BUYER is "alice\u00a0", which begins or ends with a blank: give it without`},
		{"-user=\t", "", `-user is "\t", which begins or ends with a blank: give it without`},
	} {
		t.Run(tt.args+" "+tt.environment, func(t *testing.T) {
			if name, value, ok := strings.Cut(tt.environment, "="); ok {
				t.Setenv(name, value)
			}
			var out bytes.Buffer
			err := Parse(flagSet(&out), strings.Split(tt.args, " "))
			if err == nil || err.Error() != tt.want || out.Len() > 0 {
				t.Errorf("got %v and printed %q, want %q", err, out.String(), tt.want)
			}
		})
	}
}

func TestRangesIncludeTheirEndsAndExcludeNaN(t *testing.T) {
	t.Setenv("STOCK", "11")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{Between("stock", 1, 1, 10), ""},
		{Between("stock", 10, 1, 10), ""},
		{Between("stock", 11, 1, 10), "STOCK is 11; it must be 1 to 10"},
		{Between("stock", 0, 1, 10), "STOCK is 0; it must be 1 to 10"},
		{Between("rate", math.NaN(), 0.1, 10), "-rate is NaN; it must be 0.1 to 10"},
		{Between("duration", time.Second, time.Second, time.Minute), ""},
		{Between("duration", time.Hour, time.Second, time.Minute), "-duration is 1h0m0s; it must be 1s to 1m0s"},
	} {
		if got := fmt.Sprint(tt.err); tt.want == "" && tt.err != nil || tt.want != "" && got != tt.want {
			t.Errorf("got %v, want %q", tt.err, tt.want)
		}
	}
}
