package demand

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unversioned are the properties of a SAM function that are not part of a published
// version. They belong to the function, its alias or its events, and their changes take
// effect without a new version. All other properties are part of the fingerprint, including
// ones added later.
var unversioned = []string{
	"AutoPublishAlias", "AutoPublishAliasAllProperties", "AutoPublishCodeSha256", "DeploymentPreference", "EventInvokeConfig", "Events",
	"PropagateTags", "RecursiveLoop", "ReservedConcurrentExecutions", "Tags",
}

// replacing reports whether a change of this property replaces a table or queue. The new
// resource has a different address under the same logical id.
func replacing(property string) bool {
	return strings.HasSuffix(property, "Name") || property == "KeySchema" || property == "FifoQueue"
}

// settings returns the digest of a published version's settings, with parameters resolved.
func (t *template) settings(id string, global *yaml.Node) string {
	hash := sha256.New()
	for _, properties := range []*yaml.Node{global, t.properties(id)} {
		for _, name := range names(properties) {
			if !slices.Contains(unversioned, name) {
				fmt.Fprintf(hash, "%q=", name)
				t.spell(hash, member(properties, name))
			}
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// spell writes a value in a canonical form: keys sorted, parameters and conditions resolved,
// every other function by its name and arguments. Only CloudFormation knows the physical
// name of a resource, so a reference is written as the logical id and the properties whose
// change would replace the resource.
func (t *template) spell(w io.Writer, n *yaml.Node) {
	name, argument := function(n)
	if resolved := t.value(n); resolved != nil && resolved != n {
		t.spell(w, resolved)
		return
	}
	switch {
	case n == nil || name == "Ref" && argument.Value == "AWS::NoValue":
		return
	case name == "If":
		if choice := items(argument); len(choice) == 3 {
			chosen := choice[2]
			if t.holds(choice[0].Value) {
				chosen = choice[1]
			}
			t.spell(w, chosen)
		}
		return
	}
	fmt.Fprintf(w, "%s(%q", name, n.Value)
	if name == "Ref" || name == "GetAtt" || name == "Sub" {
		for _, id := range mentioned(n) {
			if v, ok := t.values[id]; ok {
				fmt.Fprintf(w, "%q", v)
			}
			properties := t.properties(id)
			for _, property := range names(properties) {
				if replacing(property) {
					fmt.Fprintf(w, "%q=", property)
					t.spell(w, member(properties, property))
				}
			}
		}
	}
	if n.Kind == yaml.MappingNode {
		for _, key := range names(n) {
			fmt.Fprintf(w, "%q:", key)
			t.spell(w, member(n, key))
		}
	} else {
		for _, c := range n.Content {
			t.spell(w, c)
		}
	}
	io.WriteString(w, ")")
}

// names returns a mapping's keys, sorted.
func names(n *yaml.Node) []string {
	var all []string
	for name := range pairs(n) {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
