package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestACommandThatCannotBeMeantIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	config, calls := account(t, nil)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const claim = `{"service":"purchase","saleId":"moutai","user":"bob","claimId":"c","shard":0,"acceptedAt":1}`
	replay := func(log string) []string {
		return []string{"-table", "T", "restore-replay", "-at", "2026-11-11T12:04:00Z", "-log", file(log)}
	}
	record := func(option, value string) []string {
		return []string{"record", "-go", "-provider", "stripe", "-sale", "moutai", "-order", "523415642750058497", "-payment", "pi_1", "-amount", "89900", "-currency", "CNY", "-" + option, value}
	}
	for want, args := range map[string][]string{
		"there are: dev, other": {"-env", "staging", "receipt"},
		"stack none":            {"-env", "other", "redrive"},
		"NOT PAUSED: \"staging\": no such environment":    {"-env", "staging", "pause", "-sale", "moutai"},
		"give only one of ENV":                            {"-env", "dev", "-table", "T", "receipt"},
		"belong to a TABLE":                               {"-queue", "q", "redrive"},
		"NOT PAUSED: a table alone is not enough":         {"-table", "T", "pause", "-sale", "moutai"},
		"there is no command \"sell\"":                    {"sell"},
		"there is no option -all":                         {"refunds", "-all"},
		"unexpected argument":                             {"refunds", "moutai"},
		"-sale is \"moutai\\n\", which begins or ends":    {"orders", "-sale", "moutai\n"},
		"NOT PAUSED: -sale is \"moutai \", which":         {"pause", "-sale", "moutai "},
		"is not a sale id; name the sale: make receipt":   {"receipt", "-sale", "a b"},
		"give only one of SALE and ALL=1":                 {"receipt", "-sale", "moutai", "-all"},
		"name the sale that is recounted":                 {"receipt", "-json"},
		"name the sale whose events are compared":         {"receipt", "-events", "none.jsonl"},
		"make orders SALE=moutai":                         {"orders", "-sale", "a b"},
		"pending, confirmed, paid, expired, cancel":       {"orders", "-sale", "moutai", "-state", "payed"},
		"\"a\\nb\" is not a user id":                      {"person", "-user", "a\nb"},
		"\"\" is not a user id":                           {"erase", "-user", ""},
		"is not a sale id; name the sale: make archive":   {"archive", "-file", "x"},
		"name the file":                                   {"archive", "-sale", "moutai"},
		"name the payment":                                {"refunds", "-sale", "moutai", "-go"},
		"add GO=1":                                        {"refunds", "-sale", "moutai", "-payment", "stripe#pi_1"},
		"PROVIDER is stripe or standard-webhooks":         record("provider", "Stripe"),
		"PAYMENT is its payment intent":                   record("payment", "cs_1"),
		"is not an order id":                              record("order", "7x"),
		"whole number of minor units, 89900 for 8":        record("amount", "899.00"),
		"no valid amount":                                 record("amount", "-1"),
		"no valid currency":                               record("currency", "yuan"),
		"no valid reference":                              record("payment", "pi_"+strings.Repeat("1", 200)),
		"name the sale: make republish SALE=moutai":       {"republish"},
		"give only one of SALE and UNKNOWN=1":             {"republish", "-sale", "moutai", "-unknown"},
		"the system publishes no events":                  {"-table", "T", "republish", "-sale", "moutai"},
		"DROP=\"done\": only DROP=poison deletes":         {"redrive", "-drop", "done"},
		"name the sale: make verify-draw":                 {"verify-draw", "-sale", "a b"},
		"\"al\\x00ice\" is not a user id":                 {"verify-draw", "-sale", "moutai", "-user", "al\x00ice"},
		"give BUYER=… and NONCE=…":                        {"verify-draw", "-sale", "moutai", "-user", "alice"},
		"ROUND is \"1st\"":                                {"verify-draw", "-sale", "moutai", "-round", "1st"},
		"is not the http or https":                        {"verify-draw", "-url", "ftp://shop", "-sale", "moutai"},
		"because the draw is read as everybody reads":     {"-table", "T", "draw", "-sale", "moutai"},
		"no instant":                                      {"-table", "T", "restore-replay", "-at", "noon", "-log", "none"},
		"LOG=file":                                        {"-table", "T", "restore-check", "-at", "2026-11-11T12:04:00Z"},
		"of a running stack is not":                       {"restore-replay", "-at", "2026-11-11T12:04:00Z", "-log", file(claim)},
		"name no order":                                   replay("START\n"),
		"line 2: unexpected end":                          replay(claim + "\n" + claim[:40]),
		"missing or malformed":                            replay(strings.Replace(claim, `"shard":0,`, "", 1)),
		"of two users":                                    replay(claim + "\n" + strings.Replace(claim, "bob", "eve", 1)),
		"NOT PAUSED: \"\" is not a sale id; name the":     {"pause"},
		"NOT PAUSED: \"a b\" is not the id of a change":   {"pause", "-sale", "m", "-id", "a b"},
		"NOT PAUSED: NOTE: invalid-request: note must":    {"pause", "-sale", "m", "-note", "a\nb"},
		"NOT RESCHEDULED: OPENS=\"tomorrow\" is not":      {"reschedule", "-sale", "m", "-opens", "tomorrow", "-closes", "2026-11-11T14:00:00Z"},
		"NOT RESCHEDULED: CLOSES=\"\" is not an instant":  {"reschedule", "-sale", "m", "-opens", "2026-11-11T14:00:00Z"},
		"NOT RESCHEDULED: UNTIL=\"\" is not an instant":   {"reschedule", "-sale", "m", "-opens", "2026-11-11T14:00:00Z", "-closes", "2026-11-11T15:00:00Z", "-until", ""},
		"NOT DESCRIBED: nothing is given":                 {"describe", "-sale", "m"},
		"NOT DESCRIBED: SEEN=\"1.2\" is not what an":      {"describe", "-sale", "m", "-name", "x", "-seen", "1.2"},
		"NOT ADDED: \"\" is not a name; give the request": {"add", "-sale", "m", "-stock", "5"},
		"NOT ADDED: \"-5\" is not a number of units":      {"add", "-sale", "m", "-stock", "-5", "-seed-id", "x"},
		"NOT ADDED: \"5 0\" is not a number of units":     {"add", "-sale", "m", "-stock", "5 0", "-seed-id", "x"},
		"NOT WITHDRAWN: \"0\" is not a number of units":   {"withdraw", "-sale", "m", "-stock", "0", "-seed-id", "x"},
		"NOT RECALLED: say why, for the colleagues":       {"recall", "-sale", "m", "-yes"},
		"NOT RECALLED: NOTE: invalid-request: note must":  {"recall", "-sale", "m", "-yes", "-note", strings.Repeat("x", 501)},
	} {
		where := []string{"-config", config}
		if !strings.HasPrefix(args[0], "-") {
			where = append(where, "-env", "dev")
		}
		var out bytes.Buffer
		err := run(t.Context(), slices.Concat(where, args), &out)
		if err == nil || errors.Is(err, errBroken) {
			t.Errorf("%q: got %v, want %q", args, err, want)
			continue
		}
		said := out.String()
		if !errors.Is(err, errNotDone) {
			said += err.Error() + "\n"
		}
		if !strings.Contains(said, want) || strings.HasPrefix(said, "NOT ") != strings.HasPrefix(want, "NOT ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: said %q, want %q", args, said, want)
		}
	}
	if len(*calls) > 0 {
		t.Errorf("asked: %+v", *calls)
	}
}
