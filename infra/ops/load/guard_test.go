package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestOnlyThisMachineMayBeLoaded(t *testing.T) {
	for address, want := range map[string]error{
		"http://127.0.0.1:3000": nil, "http://127.7.7.7": nil, "http://localhost:3000": nil, "http://[::1]:80": nil,
		"http://192.0.2.1": errRemote, "https://abc.execute-api.eu-west-1.amazonaws.com": errRemote,
		"http://localhost.example.com": errRemote, "http://0.0.0.0:3000": errRemote, "http://127.0.0.1.example.com": errRemote,
	} {
		if err := (&options{url: address}).checkTarget(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
		if err := (&options{url: address, allowRemote: true}).checkTarget(); err != nil {
			t.Errorf("%s, allowed: %v", address, err)
		}
	}
	if err := (&options{env: "dev", rehearse: true}).checkTarget(); !errors.Is(err, errRemote) {
		t.Errorf("a stack on AWS: %v, want %v", err, errRemote)
	}
}

func TestTheDialledAddressIsChecked(t *testing.T) {
	c := newClient("http://192.0.2.1", 1, false)
	defer c.Close()
	if _, err := c.Buy(t.Context(), "s", "t", ""); !errors.Is(err, errRemote) {
		t.Errorf("%v, want %v", err, errRemote)
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	for _, args := range []string{
		"-rate 0.01", "-rate NaN", "-rate 1e9", "-peak -1", "-duration 0s", "-duration 2h", "-shards 0", "-stock -1", "-stock x", "extra", "-report=", "-unknown",
		"-url http://192.0.2.1", "-url ftp://127.0.0.1", "-tokens x", "-allow-remote -url http://192.0.2.1", "-allow-remote -url http://192.0.2.1 -sale s -tokens f -payments",
		"-demo -sale s", "-demo -url http://192.0.2.1", "-demo now", "-rehearse -sale s", "-rehearse -env dev -allow-remote", "-env dev -allow-remote -sale s -tokens f",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	o, err := parse(strings.Fields("-url https://api.example.com/ -allow-remote -sale s -tokens f"), io.Discard)
	if err != nil || o.url != "https://api.example.com" {
		t.Errorf("url %q, error %v", o.url, err)
	}
}

func TestTokensAreReadFromAFile(t *testing.T) {
	for text, want := range map[string]string{ // tokens for two buyers; "": refused
		"a.b.c\nd.e.f\n": "a.b.c d.e.f", "\n  a.b.c \r\n\nd.e.f": "a.b.c d.e.f", "a\nb\nc\n": "a b",
		"a\n": "", "a\na\n": "", "a\x01b\nc\n": "", "a b\nc\n": "", strings.Repeat("a", maxToken+1) + "\nb\n": "",
	} {
		visits := make([]visit, 2)
		if err := readTokensFile(written(t, "tokens", text), visits); (err == nil) != (want != "") || err == nil && visits[0].Token+" "+visits[1].Token != want {
			t.Errorf("%.20q: %+v, error %v", text, visits, err)
		}
	}
}
