// Command packaging makes the files of a release of this checkout in .build/release: the functions' zips, the
// templates, the command flashsale for each platform, a bill of materials of every program, the storefront's modules
// and their npm package, the licences, and the checksums of all. `make release` starts it. The same commit gives the same bytes.
// `make storefront` makes the storefront's part alone.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/ops/deploy/packaged"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/packaging/npm"
	"flashsale/shared/sale"
)

// The template, the folder into which make builds the functions, that of the release, and that of the storefront's part alone,
// which must not change a release with its checksums.
const template, functions, to, aside = "template.yaml", ".build/lambda", ".build/release", ".build/package"

// bom makes bills of materials from what a program says of itself, so that they list what is in it and nothing
// else.
const bom = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

// platforms are those of the command, as Go calls them.
var platforms = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"}

// packed is the instant of a zip's entries, the first that the format has, so that the same program gives
// the same bytes.
var packed = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func main() {
	tag := flag.String("tag", "", "the tag that the release must have")
	part := flag.Bool("storefront", false, "make the storefront's files alone, of the checkout as it is")
	flag.Parse()
	if *part {
		if err := buildStorefront(); err != nil {
			fmt.Fprintln(os.Stderr, "storefront:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := releasable(ctx, ".", *tag)
	if err == nil {
		err = build(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context) error {
	t, err := preflight.Read(template, "", map[string]string{"PublishEvents": "true"}) // with all functions
	if err := errors.Join(err, os.RemoveAll(functions), os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
		return err
	}
	run := func(words ...string) { // unless something has failed
		if err == nil {
			_, err = output(ctx, words...)
		}
	}
	tools, _ := filepath.Abs(".build/host")
	run("make", "build")
	run("env", "GOBIN="+tools, "go", "install", bom)
	modules := map[string]string{}
	describe := func(platform, name, program string) {
		// Without serial number and time, it is the same every time.
		run(append(env(platform), filepath.Join(tools, "cyclonedx-gomod"), "bin", "-json", "-std", "-noserial", "-notimestamp",
			"-version", "v"+sale.ProgramVersion, "-output", filepath.Join(to, name+".cdx.json"), program)...)
		if err == nil {
			var info *buildinfo.BuildInfo
			if info, err = buildinfo.ReadFile(program); err == nil {
				for _, m := range info.Deps {
					modules[m.Path] = m.Version
				}
			}
		}
	}
	for _, f := range t.OfType("AWS::Serverless::Function") {
		program := filepath.Join(functions, f.ID, "bootstrap")
		if describe("linux-arm64", f.ID, program); err == nil {
			err = zipped(program, filepath.Join(to, f.ID+".zip"))
		}
	}
	for _, platform := range platforms {
		name := "flashsale-" + platform
		run(append(env(platform), "CGO_ENABLED=0", "GOFLAGS=", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s",
			"-o", filepath.Join(to, name), "./infra/ops/flashsale")...)
		describe(platform, name, filepath.Join(to, name))
	}
	if err != nil {
		return err
	}
	notices, err := licences(ctx, modules)
	if err != nil {
		return err
	}
	files, err := storefront(os.DirFS("."))
	if err != nil {
		return err
	}
	files["THIRD-PARTY-LICENSES.txt"] = notices
	for _, from := range []string{template, "infra/front.yaml", "infra/alarms.yaml", "infra/samconfig.toml", "LICENSE"} {
		if files[filepath.Base(from)], err = os.ReadFile(from); err != nil {
			return err
		}
	}
	files[template] = packaged.Template(files[template])
	if err := write(to, files); err != nil {
		return err
	}
	list, err := packaged.List(to)
	if err != nil {
		return err
	}
	fmt.Printf("release %s is in %s: %d files and %s\n", sale.ProgramVersion, to, bytes.Count(list, []byte("\n")), packaged.Sums)
	return os.WriteFile(filepath.Join(to, packaged.Sums), list, 0o644)
}

// buildStorefront makes the storefront's files, and says where the npm package is.
func buildStorefront() error {
	files, err := storefront(os.DirFS("."))
	if err := errors.Join(err, os.RemoveAll(aside), os.MkdirAll(aside, 0o755)); err != nil {
		return err
	}
	if err := write(aside, files); err != nil {
		return err
	}
	for name := range files {
		if strings.HasSuffix(name, ".tgz") {
			fmt.Println("the npm package is", filepath.Join(aside, name))
		}
	}
	return nil
}

func write(folder string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// storefront returns what a release has for shops with a front end of their own, by the files' names.
func storefront(tree fs.FS) (map[string][]byte, error) {
	packed, err := npm.Files(tree)
	if err != nil {
		return nil, err
	}
	name, tarball, err := npm.Pack(packed)
	files := map[string][]byte{name: tarball}
	// flashsale.js loads drawrules.js for a sale with a draw, or with orders of several units.
	for _, name := range append([]string{"drawrules.js", npm.Integrity}, npm.Scripts...) {
		files[name] = packed[name]
	}
	return files, err
}

// env starts a command line for a platform.
func env(platform string) []string {
	system, arch, _ := strings.Cut(platform, "-")
	return []string{"env", "GOOS=" + system, "GOARCH=" + arch}
}

// output runs a program and returns what it prints; its complaints are shown.
func output(ctx context.Context, words ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", strings.Join(words, " "), err)
	}
	return out, nil
}

// releasable says why no release can be made of a tree.
func releasable(ctx context.Context, tree, tag string) error {
	changes, err := preflight.Uncommitted(ctx, tree)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		return fmt.Errorf("%d files are not committed, such as %s", len(changes), strings.TrimSpace(changes[0]))
	}
	if tag != "" && tag != "v"+sale.ProgramVersion {
		return fmt.Errorf("the tag is %s, but shared/sale/version.go says %s", tag, sale.ProgramVersion)
	}
	changelog, err := os.ReadFile(filepath.Join(tree, "infra", "docs", "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(changelog), "\n## "+sale.ProgramVersion+" - ") {
		return fmt.Errorf("infra/docs/CHANGELOG.md has no section of %s", sale.ProgramVersion)
	}
	tags := []string{"git", "-C", tree, "tag", "--list", "v" + sale.ProgramVersion}
	released, err := output(ctx, tags...)
	if err != nil || len(released) == 0 {
		return err
	}
	if here, err := output(ctx, append(tags, "--points-at", "HEAD")...); err != nil || len(here) > 0 {
		return err
	}
	return fmt.Errorf("%s is released: another commit has the tag v%s", sale.ProgramVersion, sale.ProgramVersion)
}

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

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)`)

// licences are the licence texts and notices of modules, by path, and of Go's library.
func licences(ctx context.Context, modules map[string]string) ([]byte, error) {
	goroot, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go's standard library": strings.TrimSpace(string(goroot))}
	words := []string{"go", "mod", "download", "-json"}
	for path, version := range modules {
		words = append(words, path+"@"+version)
	}
	list, err := output(ctx, words...)
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
