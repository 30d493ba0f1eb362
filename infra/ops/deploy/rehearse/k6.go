package rehearse

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed k6.js
var k6Script string

// unmade is the line of the script that is replaced by what it is made from.
const unmade = "const made = {};\n"

// operation is what the script needs of one operation of the document.
type operation struct {
	Method   string `json:"method"`
	Path     string `json:"path"`
	Statuses []int  `json:"statuses"`
}

// script makes the k6 script from the OpenAPI document. The values become JSON, which is text of
// JavaScript that nothing can leave.
func script(document []byte, url string, rate float64, duration time.Duration) ([]byte, error) {
	operations, err := operationsOf(document, "purchase", "claim")
	if err != nil {
		return nil, fmt.Errorf("make k6 script: %w", err)
	}
	made, err := json.MarshalIndent(map[string]any{"url": url, "rate": rate, "seconds": duration.Seconds(), "operations": operations}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make k6 script: %w", err)
	}
	before, after, ok := strings.Cut(k6Script, unmade)
	if !ok {
		return nil, errors.New("make k6 script: it has no place for the document")
	}
	return []byte(before + strings.TrimSuffix(unmade, "{};\n") + string(made) + ";\n" + after), nil
}

// operationsOf reads operations by their ids. A path may have no other parameter than the sale,
// because the script knows no other.
func operationsOf(document []byte, ids ...string) (map[string]operation, error) {
	type described struct {
		ID        string `yaml:"operationId"`
		Responses map[string]yaml.Node
	}
	var read struct {
		Paths map[string]struct{ Get, Post, Put described }
	}
	if err := yaml.Unmarshal(document, &read); err != nil {
		return nil, err
	}
	found := map[string]operation{}
	for path, item := range read.Paths {
		for method, o := range map[string]described{"GET": item.Get, "POST": item.Post, "PUT": item.Put} {
			if !slices.Contains(ids, o.ID) {
				continue
			}
			if strings.Contains(strings.Replace(path, "{saleId}", "", 1), "{") {
				return nil, fmt.Errorf("%s has another parameter than the sale: %s", o.ID, path)
			}
			var statuses []int
			for status := range o.Responses {
				n, err := strconv.Atoi(status)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", o.ID, err)
				}
				statuses = append(statuses, n)
			}
			slices.Sort(statuses)
			found[o.ID] = operation{method, path, statuses}
		}
	}
	for _, id := range ids {
		if len(found[id].Statuses) == 0 {
			return nil, fmt.Errorf("the document has no operation %s", id)
		}
	}
	return found, nil
}
