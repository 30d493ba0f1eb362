package contract

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed events/*.json asyncapi.yaml
var eventDocuments embed.FS

// Events are the schemas of the order events, by type, and that of a webhook. They are safe for concurrent use.
type Events map[string]*jsonschema.Schema

// OpenEvents reads the schemas in the folder events. It fails if one is not valid.
func OpenEvents() (Events, error) {
	files, err := eventDocuments.ReadDir("events")
	if err != nil {
		return nil, fmt.Errorf("read event schemas: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, f := range files {
		text, _ := eventDocuments.ReadFile("events/" + f.Name()) // it is there
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err := cmp.Or(err, compiler.AddResource(f.Name(), schema)); err != nil {
			return nil, fmt.Errorf("read event schema %s: %w", f.Name(), err)
		}
	}
	all := Events{}
	for _, f := range files {
		schema, err := compiler.Compile(f.Name())
		if err != nil {
			return nil, fmt.Errorf("read event schema %s: %w", f.Name(), err)
		}
		if name := strings.TrimSuffix(f.Name(), ".json"); name != "Envelope" && name != "members" {
			all[name] = schema
		}
	}
	return all, nil
}

// Check checks an event as EventBridge delivers it, by the schema of its type.
func (e Events) Check(envelope []byte) error {
	event, err := jsonschema.UnmarshalJSON(bytes.NewReader(envelope))
	if err != nil {
		return fmt.Errorf("check event: %w", err)
	}
	members, _ := event.(map[string]any)
	kind, _ := members["detail-type"].(string)
	if e[kind] == nil {
		return fmt.Errorf("check event: no schema of the type %q", kind)
	}
	return e[kind].Validate(event)
}

// CheckWebhook checks an event as the forwarder sends it.
func (e Events) CheckWebhook(payload []byte) error {
	message, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("check webhook: %w", err)
	}
	return e["webhook"].Validate(message)
}
