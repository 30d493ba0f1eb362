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

// unversioned are the properties of a SAM function that a published version does
// not hold: they belong to the function, its alias or its events, so that a change
// of them takes effect without a new version. Any other property, also one that is
// added later, is part of the fingerprint.
var unversioned = []string{
	"AutoPublishAlias", "AutoPublishCodeSha256", "DeploymentPreference", "EventInvokeConfig", "Events",
	"PropagateTags", "RecursiveLoop", "ReservedConcurrentExecutions", "Tags",
}

// replacing tells the properties of a table or queue whose change replaces it.
// The new one has another address under the same logical id.
func replacing(property string) bool {
	return strings.HasSuffix(property, "Name") || property == "KeySchema" || property == "FifoQueue"
}

// settings is the digest of what a published version of the function holds beside
// its code, with every parameter's value in it.
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

// spell writes a value so that two values are written alike exactly if they are
// the same: keys sorted, parameters and conditions resolved, every other function
// by its name and arguments. What a resource is called is known to CloudFormation
// only, so a reference is written as the logical id and what would replace it.
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

// names are a mapping's keys, sorted.
func names(n *yaml.Node) []string {
	var all []string
	for name := range pairs(n) {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
