package orderevent

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

func TestALaterReleasesEventIsReadIfItsVersionIsTheSame(t *testing.T) {
	for detail, readable := range map[string]bool{
		`{"schemaVersion":1,"id":"a","added":{"later":true}}`: true,
		`{"schemaVersion":3,"id":"a"}`:                        false,
		`{"schemaVersion":1}`:                                 false,
		`{"schemaVersion":1,"id":`:                            false,
	} {
		if _, err := Read(events.EventBridgeEvent{Detail: []byte(detail)}); (err == nil) != readable {
			t.Errorf("%s: %v", detail, err)
		}
	}
}
