package deploy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/local/cloudformation"
)

const functionType = "AWS::Serverless::Function"

type function struct {
	id string // logical
	// settings are everything in a published version except its program.
	settings []byte
}

// unversioned are the properties of a SAM function that are not part of a published
// version. They belong to the function, its alias or its events, and their changes take
// effect without a new version. All other properties are part of the fingerprint, including
// ones added later.
var unversioned = []string{
	"AutoPublishAlias", "AutoPublishAliasAllProperties", "DeploymentPreference", "EventInvokeConfig", "Events",
	"PropagateTags", "RecursiveLoop", "ReservedConcurrentExecutions", "Tags",
}

func functionsOf(t *cloudformation.Template) ([]function, error) {
	var all []function
	for _, resource := range t.OfType(functionType) {
		globals, err := t.Values(t.Globals(), unversioned...)
		own, failed := t.Values(resource.Properties, unversioned...)
		settings, unfit := json.Marshal([]any{globals, own})
		if err := errors.Join(err, failed, unfit); err != nil {
			return nil, fmt.Errorf("fingerprint %s: %w", resource.ID, err)
		}
		all = append(all, function{resource.ID, settings})
	}
	return all, nil
}

// codeHash is the property of a function whose change makes SAM publish a version.
const codeHash = "AutoPublishCodeSha256"

// fingerprinted puts each function's fingerprint into the template that is deployed, which lies with the
// programs: SAM takes it from a text or from one parameter, not from a part of one.
func fingerprinted(built string, functions []function) error {
	path := filepath.Join(built, "template.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the template to deploy: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	for _, f := range functions {
		print, err := f.fingerprint(built)
		if err != nil {
			return err
		}
		properties := propertiesOf(&document, f.id)
		if properties == nil {
			return fmt.Errorf("%s has no properties of %s", path, f.id)
		}
		if own := cloudformation.Member(properties, codeHash); own != nil {
			own.SetString(print)
			continue
		}
		properties.Content = append(properties.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: codeHash}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: print})
	}
	if text, err = yaml.Marshal(&document); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}

// propertiesOf returns a resource's properties in a document, nil if there are none.
func propertiesOf(document *yaml.Node, id string) *yaml.Node {
	if document.Kind != yaml.DocumentNode {
		return nil
	}
	return cloudformation.Member(cloudformation.Member(cloudformation.Member(document.Content[0], "Resources"), id), "Properties")
}

// fingerprint changes with the function's program and with everything else that a
// published version contains. Without it a changed parameter would only reach $LATEST:
// SAM publishes a version only if the given hash of the code has changed
// (aws/serverless-application-model issue 3820), and names the version by the hash's
// first ten characters.
func (f function) fingerprint(built string) (string, error) {
	program, err := os.ReadFile(filepath.Join(built, f.id+".zip")) // of a release
	if errors.Is(err, fs.ErrNotExist) {
		program, err = os.ReadFile(filepath.Join(built, f.id, "bootstrap"))
	}
	if err != nil {
		return "", fmt.Errorf("fingerprint %s: %w", f.id, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(slices.Concat(f.settings, program))), nil
}
