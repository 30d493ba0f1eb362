// Package packaged knows the files of a release from which a stack is deployed: the templates, in a form that
// names its neighbours, the functions' zips, and the checksums of all.
package packaged

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Sums is a release's list of its other files with their SHA-256.
const Sums = "SHA256SUMS"

var (
	functionHead = regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::Serverless::Function\n(    Condition: \w+\n)?    Metadata: \{ BuildMethod: makefile(?:, )?(.*)\}\n    Properties:\n`)
	codeOfAll    = regexp.MustCompile(`(?m)^    CodeUri: \.\n`)
	nested       = regexp.MustCompile(`(?m)^(      TemplateURL: )infra/`)
)

// Template is the template whose functions are the zips, and whose nested templates the files, in its own
// folder: `sam deploy` and `aws cloudformation package` upload them. That of a release stays as it is.
func Template(text []byte) []byte {
	text = functionHead.ReplaceAllFunc(text, func(found []byte) []byte {
		m := functionHead.FindSubmatch(found)
		metadata := ""
		if len(m[3]) > 0 {
			metadata = "    Metadata: { " + string(m[3]) + "}\n"
		}
		return fmt.Appendf(nil, "  %s:\n    Type: AWS::Serverless::Function\n%s%s    Properties:\n      CodeUri: %s.zip\n", m[1], m[2], metadata, m[1])
	})
	return nested.ReplaceAll(codeOfAll.ReplaceAll(text, nil), []byte("$1"))
}

// List is the text of Sums for the files in a folder.
func List(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for _, e := range entries {
		if e.Name() == Sums {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return list.Bytes(), nil
}

// ErrSpoiled means that a file is not that of the release.
var ErrSpoiled = errors.New("download the release's files again, into an empty folder")

// Copy copies what is deployed, templates and zips, into a folder, and compares each file with its sum. Of the
// other files there may be any part, and samconfig.toml is anybody's own.
func Copy(folder, to string) error {
	list, err := os.ReadFile(filepath.Join(folder, Sums))
	if err != nil {
		return fmt.Errorf("read release: %w", err)
	}
	for line := range strings.Lines(string(list)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if kind := filepath.Ext(name); !filepath.IsLocal(name) || kind != ".yaml" && kind != ".zip" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return fmt.Errorf("%w: %w", err, ErrSpoiled)
		}
		if fmt.Sprintf("%x", sha256.Sum256(text)) != want {
			return fmt.Errorf("%s in %s is not that of its %s: %w", name, folder, Sums, ErrSpoiled)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return fmt.Errorf("copy release: %w", err)
		}
	}
	return nil
}
