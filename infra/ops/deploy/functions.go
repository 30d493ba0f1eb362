package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"flashsale/infra/local/cloudformation"
)

const functionType = "AWS::Serverless::Function"

// function is a function of the template.
type function struct {
	id string // logical
	// parameter is the one that must change for a version to be published.
	parameter string
	// settings are everything in a published version except its program.
	settings []byte
}

// unversioned are the properties of a SAM function that are not part of a published
// version. They belong to the function, its alias or its events, and their changes take
// effect without a new version. All other properties are part of the fingerprint, including
// ones added later.
var unversioned = []string{
	"AutoPublishAlias", "AutoPublishAliasAllProperties", "AutoPublishCodeSha256", "DeploymentPreference", "EventInvokeConfig", "Events",
	"PropagateTags", "RecursiveLoop", "ReservedConcurrentExecutions", "Tags",
}

// functionsOf returns the template's functions, sorted.
func functionsOf(t *cloudformation.Template) ([]function, error) {
	var all []function
	for _, resource := range t.OfType(functionType) {
		f := function{id: resource.ID, parameter: cloudformation.Reference(cloudformation.Member(resource.Properties, "AutoPublishCodeSha256"))}
		if f.parameter == "" {
			return nil, fmt.Errorf("fingerprint %s: its AutoPublishCodeSha256 does not refer to a parameter", f.id)
		}
		var settings [2]map[string]any
		var err error
		if settings[0], err = t.Values(t.Globals(), unversioned...); err == nil {
			settings[1], err = t.Values(resource.Properties, unversioned...)
		}
		if err == nil {
			f.settings, err = json.Marshal(settings)
		}
		if err != nil {
			return nil, fmt.Errorf("fingerprint %s: %w", f.id, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// fingerprint changes with the function's program and with everything else that a
// published version contains. Without it a changed parameter would only reach $LATEST:
// SAM publishes a version only if the given hash of the code has changed
// (aws/serverless-application-model issue 3820), and names the version by the hash's
// first ten characters.
func (f function) fingerprint(built string) (string, error) {
	program, err := os.Open(filepath.Join(built, f.id, "bootstrap"))
	if err != nil {
		return "", fmt.Errorf("fingerprint %s: %w", f.id, err)
	}
	defer program.Close()
	digest := sha256.New()
	digest.Write(f.settings)
	if _, err := io.Copy(digest, program); err != nil {
		return "", fmt.Errorf("fingerprint %s: %w", f.id, err)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}
