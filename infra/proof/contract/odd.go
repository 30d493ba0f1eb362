package contract

import (
	"math/rand/v2"
	"strings"
)

// oddTexts replace a short identifier.
var oddTexts = []string{
	"", " ", ".", "..", "../orders", "a/b", "a#b", "a|b", "a?b=c", "a;b", "a%b", "%2e%2e", "a\\b", "a&b", "'", `"`, `"a`, "a b", " a", "a ",
	"null", "true", "-1", "+1", "0", "00", "01", "1.5", "1e9", "0x10", "NaN", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", "4294967296", "{}", "[]", "{saleId}", "$default", "__proto__", "constructor", "; DROP TABLE sales", "${jndi:x}",
	"ｍoutai", "mоutai", "moutai\u0301", "茅台", "mou\u200btai", "\u202emoutai", "\ufeffmoutai", "mou\u00adtai", "İ", "ﬀ", "🍶", "👩‍👩‍👧",
	"mou\x00tai", "mou\ntai", "mou\rtai", "mou\ttai", "mou\x7ftai", "mou\x1b[31mtai", "\u0085", "\u2028",
	"\xff", "mou\xfftai", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x28\xa1", "\ufffd",
}

// oddLengths are around the limits of the contract, and far beyond.
var oddLengths = []int{63, 64, 65, 66, 128, 129, 255, 1024, 1025, 4000}

// oddBodies replace an empty object.
var oddBodies = []string{
	"null", "true", "0", `""`, `"{}"`, "[]", "[{}]", "{", "}", "{}{}", "{},", "{}x", "x{}", `{"quantity":2}`, `{"":null}`, `{"a":1,"a":2}`,
	`{"__proto__":{}}`, "{ }", "\t{\r\n}\n", "\ufeff{}", "{\u00a0}", "{\x00}", "\x00", "\xff\xfe{\x00}\x00", "// {}", "{/**/}", "a=b", "<a/>",
	"{\"\xff\":1}", `{"\ud800":1}`, "{\"茅台\":\"🍶\"}", "NaN", "-", "1e400", strings.Repeat("[", 500), strings.Repeat(`{"a":`, 200),
	strings.Repeat(" ", 1022) + "{}", strings.Repeat(" ", 1023) + "{}", strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("x", 4096), strings.Repeat("x", 4097), strings.Repeat("é", 600), strings.Repeat("x", 100_000),
}

var oddMediaTypes = []string{
	"application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;", "application/json; charset=utf-16",
	"application/json; a=b; a=c", "application/json, text/plain", "application/problem+json", "text/json", "text/plain", "application/xml", "*/*", "json", "/", ";", "",
	"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/octet-stream", "application/\xff", "应用/json",
}

// oddHeaders are not in the contract and must not change the answer.
var oddHeaders = [][2]string{
	{"Accept", "text/html;q=0"}, {"Accept-Encoding", "br, zstd, identity;q=0"}, {"Content-Encoding", "gzip"}, {"Cookie", "sub=victim; a"},
	{"Range", "bytes=0-1"}, {"If-None-Match", "*"}, {"X-Http-Method-Override", "DELETE"}, {"X-Forwarded-For", "\xff, 127.0.0.1"},
	{"X-User-Id", "victim"}, {"Forwarded", "for=\"[::1]\""}, {"Referer", "null"}, {"X-Amzn-Trace-Id", "Root=1-茅台"}, {"User-Agent", "\"\\\x80"},
	{"X-Origin-Verify", "guess"}, {"Idempotency", "1"},
}

var oddMethods = []string{"PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "get", "POSTX", "PROPFIND"}

// oddText is a text that probably does not match a schema: one of the list, one of an
// odd length, or a valid one with a single fault.
func oddText(good string, r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return strings.Repeat(pick([]string{"x", "7", "é", "-"}, r), pick(oddLengths, r))
	case 1:
		at := r.IntN(len(good) + 1)
		return good[:at] + pick(oddTexts, r) + good[at:]
	}
	return pick(oddTexts, r)
}

func pick[T any](all []T, r *rand.Rand) T { return all[r.IntN(len(all))] }
