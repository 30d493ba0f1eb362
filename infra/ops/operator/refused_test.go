package operator

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/ops/cli"
)

func TestACommandThatCannotBeMeantIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	config, calls := account(t, nil)
	const claim = `{"service":"purchase","saleId":"moutai","user":"bob","claimId":"c","shard":0,"acceptedAt":1}`
	replay := func(log string) []string {
		return []string{"table", "replay", "--table", "T", "--at", "2026-11-11T12:04:00Z", "--log", file(t, log)}
	}
	record := func(option, value string) []string {
		return []string{"payment", "record", "--yes", "--provider", "stripe", "--sale", "moutai", "--order", "523415642750058497", "--payment", "pi_1", "--amount", "89900", "--currency", "CNY", "--" + option, value}
	}
	for want, args := range map[string][]string{
		"there are: dev, other":                                     {"books", "list", "--env", "staging"},
		"there is no stack none in the region eu-west-1":            {"queue", "show", "--env", "other"},
		"--env: \"staging\": no such environment":                   {"sale", "pause", "moutai", "--env", "staging"},
		"belongs to a --table":                                      {"queue", "show", "--dead-letter-queue", "q"},
		"a table alone is not enough":                               {"sale", "pause", "moutai", "--table", "T"},
		"a table has no queues":                                     {"queue", "show", "--table", "T"},
		"\"a b\" is not a sale id":                                  {"books", "receipt", "a b"},
		"give only one of SALE and --sale":                          {"order", "list", "moutai", "--sale", "moutai"},
		"give only one of a sale and --group":                       {"order", "list", "moutai", "--group", "shoe"},
		"--group is \"a b\"":                                        {"order", "list", "--group", "a b"},
		"--version is of one sale":                                  {"sale", "resume", "--group", "shoe", "--version", "0.0"},
		"give only one of a sale and --all":                         {"books", "receipt", "moutai", "--all"},
		"name the sale that is recounted":                           {"books", "receipt", "-o", "json"},
		"order list: name the sale: flashsale order list --sale":    {"order", "list"},
		"it must be pending, confirmed, paid, expired, cancel":      {"order", "list", "moutai", "--state", "payed"},
		"give the id of the order, or --buyer with":                 {"order", "show", "--buyer", "alice"},
		"\"7x\" is not an order id; `flashsale order list":          {"order", "show", "7x"},
		"\"a\\nb\" is not a buyer's id":                             {"buyer", "show", "a\nb"},
		"name the file":                                             {"books", "archive", "moutai"},
		"give the payment, such as 'stripe#pi_1', or --file":        {"refund", "mark"},
		"order cancel: name the order":                              {"order", "cancel", "--yes"},
		"--provider is stripe, standard-webhooks, ":                 record("provider", "Stripe"),
		"--payment is the pspReference of its authorisation":        record("provider", "adyen"),
		"--payment is its payment intent":                           record("payment", "cs_1"),
		"\"pi_1\" is not a payment of WeChat Pay: --payment is its": record("provider", "wechat-pay"),
		"\"pi_1\" is not a payment of Alipay: --payment is its tr":  record("provider", "alipay"),
		"\"523415642750058497\" is not a payment of Alipay":         append(record("provider", "alipay"), "--payment", "523415642750058497"),
		"\"523415642750058497\" is not a payment of WeChat Pay":     append(record("provider", "wechat-pay"), "--payment", "523415642750058497"),
		"\"7x\" is not an order id: --order":                        record("order", "7x"),
		"whole number of minor units, 89900 for 8":                  record("amount", "899.00"),
		"no valid amount":                                           record("amount", "-1"),
		"give one of a sale and --unknown":                          {"event", "republish"},
		"give one of a sale and --unknown, which":                   {"event", "republish", "moutai", "--unknown"},
		"give the address of the receiver":                          {"event", "send"},
		"EVENTS_SECRET must have":                                   {"event", "send", "--to", "https://shop.example"},
		"the address must begin with https://":                      {"event", "send", "--to", "http://shop.example"},
		"--type is OrderConfirmed, OrderPaid, ":                     {"event", "send", "--to", "http://localhost", "--type", "Paid"},
		"\"7x\" is not an order id; `flashsale order list ":         {"event", "send", "--to", "http://localhost", "--order", "7x"},
		"the system publishes no events":                            {"event", "republish", "moutai", "--table", "T"},
		"queue redrive asks before it goes on":                      {"queue", "redrive", "--drop-poison", "--table", "T", "--dead-letter-queue", "d"},
		"\"al\\x00ice\" is not a buyer's id":                        {"draw", "verify", "moutai", "--buyer", "al\x00ice"},
		"give --buyer and --nonce together":                         {"draw", "verify", "moutai", "--buyer", "alice"},
		"--round is \"1st\"":                                        {"draw", "verify", "moutai", "--round", "1st"},
		"is not the http or https":                                  {"draw", "verify", "moutai", "--url", "ftp://shop"},
		"a table alone is not enough, because a function":           {"draw", "show", "moutai", "--table", "T"},
		"no instant":                                         {"table", "replay", "--table", "T", "--at", "noon", "--log", "none"},
		"--log FILE":                                         {"table", "check", "--table", "T", "--at", "2026-11-11T12:04:00Z"},
		"of a running stack is not":                          {"table", "replay", "--at", "2026-11-11T12:04:00Z", "--log", file(t, claim)},
		"name no order":                                      replay("START\n"),
		"line 2: unexpected end":                             replay(claim + "\n" + claim[:40]),
		"missing or malformed":                               replay(strings.Replace(claim, `"shard":0,`, "", 1)),
		"of two users":                                       replay(claim + "\n" + strings.Replace(claim, "bob", "eve", 1)),
		"\"a b\" is not the name of a change":                {"sale", "pause", "m", "--id", "a b"},
		"--note: invalid-request: note must":                 {"sale", "pause", "m", "--note", "a\nb"},
		"--opens is \"tomorrow\", which is not an instant":   {"sale", "reschedule", "m", "--opens", "tomorrow", "--closes", "2026-11-11T14:00:00Z"},
		"--until is \"\", which is not an instant":           {"sale", "reschedule", "m", "--opens", "2026-11-11T14:00:00Z", "--closes", "2026-11-11T15:00:00Z", "--until", ""},
		"nothing is given":                                   {"sale", "describe", "m"},
		"--version is \"1.2\", which is not what an earlier": {"sale", "describe", "m", "--name", "x", "--version", "1.2"},
		"sale add: name the id: flashsale sale add":          {"sale", "add", "m", "--stock", "5"},
		"\"5 0\" is not a number of units":                   {"sale", "add", "m", "--stock", "5 0", "--id", "x"},
		"\"0\" is not a number of units":                     {"sale", "withdraw", "m", "--stock", "0", "--id", "x"},
		"say why, for the colleagues":                        {"sale", "recall", "m", "--yes"},
	} {
		args = append(args, "--config", config)
		if !slices.ContainsFunc(args, func(a string) bool { return a == "--env" || a == "--table" || a == "--url" }) {
			args = append(args, "--env", "dev")
		}
		said, code := (&target{}).at(t.Context(), nil, nil, args...)
		if !strings.HasPrefix(said, "flashsale: ") || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: said %q, want %q", args, said, want)
		}
		known := code == cli.ExitUsage || code == cli.ExitUnknown && notFoundOut.MatchString(said)
		if !known {
			t.Errorf("%q: exit %d, %q", args, code, said)
		}
	}
	if len(*calls) > 0 {
		t.Errorf("asked: %+v", *calls)
	}
}

// notFoundOut is what is no mistake of the command line.
var notFoundOut = regexp.MustCompile(`there is no stack|publishes no events|name no order|unexpected end|malformed|of two users|http or https`)
