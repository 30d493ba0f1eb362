package endpoint

import (
	"errors"
	"net/url"
	"reflect"
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

func TestEveryPartOfAPlaceMatters(t *testing.T) {
	fields := reflect.TypeFor[Place]()
	for i := range fields.NumField() {
		var m Memory
		calls := 0
		find := func() (transport.Endpoint, error) { calls++; return transport.Endpoint{}, nil }
		var other Place
		switch f := reflect.ValueOf(&other).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetString("x")
		}
		for _, p := range []Place{{}, other} {
			if _, err := m.At(p, find); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 2 {
			t.Errorf("%s makes no difference", fields.Field(i).Name)
		}
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
