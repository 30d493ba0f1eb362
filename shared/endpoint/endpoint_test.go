package endpoint

import (
	"errors"
	"net/url"
	"testing"

	transport "github.com/aws/smithy-go/endpoints"
)

func TestAnEndpointIsFoundOnceForAPlace(t *testing.T) {
	var m Memory
	found := 0
	at := func(p Place) string {
		e, err := m.At(p, func() (transport.Endpoint, error) {
			found++
			return transport.Endpoint{URI: url.URL{Host: p.Region}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return e.URI.Host
	}
	for _, region := range []string{"one", "one", "two", "two", "one"} {
		if got := at(Place{Region: region}); got != region {
			t.Errorf("the endpoint of %s is %s", region, got)
		}
	}
	if found != 3 {
		t.Errorf("found %d times, want 3", found)
	}
}

func TestWhatWasNotFoundIsLookedForAgain(t *testing.T) {
	var m Memory
	missing := errors.New("no such region")
	if _, err := m.At(Place{}, func() (transport.Endpoint, error) { return transport.Endpoint{}, missing }); err != missing {
		t.Errorf("got %v, want the error as it is", err)
	}
	e, err := m.At(Place{}, func() (transport.Endpoint, error) { return transport.Endpoint{URI: url.URL{Host: "here"}}, nil })
	if err != nil || e.URI.Host != "here" {
		t.Errorf("got %v, %v", e.URI.Host, err)
	}
}
