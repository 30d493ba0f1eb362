package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"flashsale/infra/ops/deploy/preflight"
	"flashsale/shared/sale"
)

// sums is a release's list of its other files with their SHA-256.
const sums = "SHA256SUMS"

// packed is the instant of a zip's entries, the first that the format has, so that the same program gives
// the same bytes.
var packed = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// runRelease checks whether a release may be made of this tree and, with -built, makes its files from
// the functions' programs; bills of materials that are in the folder already are listed with them.
func runRelease(ctx context.Context, c *command) error {
	tag := c.String("tag", "", "the tag that the release must have")
	built := c.String("built", "", "`folder` of the functions' programs; without it the tree is only checked")
	name := c.Bool("name", false, "only print the release's name")
	to := c.String("out", ".build/release", "the release's `folder`")
	if err := c.parse(); err != nil {
		return err
	}
	if *name {
		fmt.Fprintln(c.out, "v"+sale.Release)
		return nil
	}
	if err := releasable(ctx, ".", *tag); err != nil {
		return fmt.Errorf("no release: %w", err)
	}
	if *built == "" {
		return nil
	}
	modules := map[string]string{}
	t, err := preflight.Read(template, "", map[string]string{"PublishEvents": "true"}) // with all functions
	if err != nil {
		return err
	}
	for _, function := range t.OfType(functionType) {
		program := filepath.Join(*built, function.ID, "bootstrap")
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return fmt.Errorf("read %s: %w", program, err)
		}
		for _, m := range info.Deps {
			modules[m.Path] = m.Version
		}
		if err := zipped(program, filepath.Join(*to, function.ID+".zip")); err != nil {
			return err
		}
	}
	notices, err := licences(ctx, modules)
	if err != nil {
		return err
	}
	files := map[string][]byte{"THIRD-PARTY-LICENSES.txt": notices}
	for _, from := range []string{template, "infra/front.yaml", "infra/alarms.yaml", "LICENSE"} {
		if files[filepath.Base(from)], err = os.ReadFile(from); err != nil {
			return err
		}
	}
	files[template] = packagedTemplate(files[template])
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(*to, name), text, 0o644); err != nil {
			return err
		}
	}
	list, err := listed(*to)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*to, sums), list, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "release %s is in %s: %d files and %s\n", sale.Release, *to, bytes.Count(list, []byte("\n")), sums)
	return nil
}

// releasable says why no release can be made of a tree.
func releasable(ctx context.Context, tree, tag string) error {
	changes, err := uncommitted(ctx, tree)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		return fmt.Errorf("%d files are not committed, such as %s", len(changes), strings.TrimSpace(changes[0]))
	}
	if tag != "" && tag != "v"+sale.Release {
		return fmt.Errorf("the tag is %s, but shared/sale/version.go says %s", tag, sale.Release)
	}
	changelog, err := os.ReadFile(filepath.Join(tree, "infra", "docs", "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(changelog), "\n## "+sale.Release+" - ") {
		return fmt.Errorf("infra/docs/CHANGELOG.md has no section of %s", sale.Release)
	}
	tags := []string{"-C", tree, "tag", "--list", "v" + sale.Release}
	released, err := output(ctx, "git", tags...)
	if err != nil || len(released) == 0 {
		return err
	}
	if here, err := output(ctx, "git", append(tags, "--points-at", "HEAD")...); err != nil || len(here) > 0 {
		return err
	}
	return fmt.Errorf("%s is released: another commit has the tag v%s", sale.Release, sale.Release)
}

// zipped writes a zip with that program.
func zipped(program, to string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	head := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: packed}
	head.SetMode(0o755)
	w, err := z.CreateHeader(head)
	if err == nil {
		_, err = w.Write(text)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("zip %s: %w", program, err)
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}

var (
	functionHead = regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::Serverless::Function\n(    Condition: \w+\n)?    Metadata: \{ BuildMethod: makefile(?:, )?(.*)\}\n    Properties:\n`)
	codeOfAll    = regexp.MustCompile(`(?m)^    CodeUri: \.\n`)
	nested       = regexp.MustCompile(`(?m)^(      TemplateURL: )infra/`)
)

// packagedTemplate is the template whose functions are the zips, and whose nested templates the files, in
// its own folder: `sam deploy` and `aws cloudformation package` upload them.
func packagedTemplate(text []byte) []byte {
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

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)`)

// licences are the licence texts and notices of modules, by path, and of Go's library.
func licences(ctx context.Context, modules map[string]string) ([]byte, error) {
	goroot, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go's standard library": strings.TrimSpace(string(goroot))}
	words := []string{"mod", "download", "-json"}
	for path, version := range modules {
		words = append(words, path+"@"+version)
	}
	list, err := output(ctx, "go", words...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(list)); d.More(); {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("read go mod download: %w", err)
		}
		folders[m.Path+" "+m.Version] = m.Dir
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(folders[name])
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folders[name], e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&b, "==== %s: %s ====\n\n%s\n\n", name, e.Name(), bytes.TrimSpace(text))
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence file", name)
		}
	}
	return b.Bytes(), nil
}

// listed is the text of SHA256SUMS for the files in a folder.
func listed(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for _, e := range entries {
		if e.Name() == sums {
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

// copied checks a release that shall be deployed from this tree, and puts its files where those of
// `sam build` would be.
func copied(folder, template, to string) error {
	want, err := os.ReadFile(filepath.Join(folder, sums))
	if err != nil {
		return fmt.Errorf("read release: %w", err)
	}
	list, err := listed(folder)
	if err != nil {
		return err
	}
	if !bytes.Equal(list, want) {
		return fmt.Errorf("the files in %s are not those of its %s: download them again, into an empty folder", folder, sums)
	}
	own, err := os.ReadFile(template)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(folder, "template.yaml"))
	if err != nil {
		return err
	}
	if !bytes.Equal(packagedTemplate(own), text) {
		return fmt.Errorf("the template in %s is not this tree's (%s): check out the release's tag", folder, sale.Release)
	}
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		return fmt.Errorf("copy release: %w", err)
	}
	return nil
}
