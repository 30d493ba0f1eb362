// Package npm packs the modules of a storefront, flashsale.js and <flash-sale>, as npm does. It takes Go alone, like the
// rest of a release: a package of npm's own has the modes that the packer's umask leaves, and is compressed by the Node at
// hand.
package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"flashsale/shared/sale"
)

const Name = "flashsale-storefront"

// Integrity is the file, of the package and of the release, with the digest of each module in the form of an HTML
// attribute `integrity` and of an import map: {"element.js": "sha384-…"}.
const Integrity = "storefront-integrity.json"

// Scripts are the modules that a release also has by themselves.
var Scripts = []string{"flashsale.js", "element.js"}

//go:embed package.json
var manifest []byte

// languageTypes are what a shop may use of language.js.
//
//go:embed language.d.ts
var languageTypes []byte

// packed is what npm gives as the time of each file.
var packed = time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC)

var (
	reference = regexp.MustCompile(`["']\./([\w.-]+)["']`)
	link      = regexp.MustCompile(`\[([^\]]*)\]\([^)#][^)]*\)`) // to what the package lacks
)

// Files returns the package's files of the project's tree, by name: Scripts and what they load, their types, and what
// describes them.
func Files(tree fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	read := func(name, from string) (err error) {
		files[name], err = fs.ReadFile(tree, from)
		return err
	}
	for queue := slices.Clone(Scripts); len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if files[name] != nil {
			continue
		}
		if err := read(name, path.Join("functions/page/assets", name)); err != nil {
			return nil, err
		}
		for _, m := range reference.FindAllSubmatch(files[name], -1) {
			queue = append(queue, string(m[1]))
		}
	}
	digests := map[string]string{}
	for name, text := range files {
		digest := sha512.Sum384(text)
		digests[name] = "sha384-" + base64.StdEncoding.EncodeToString(digest[:])
	}
	list, err := json.MarshalIndent(digests, "", "  ")
	files[Integrity] = append(list, '\n')
	for _, name := range Scripts {
		types := strings.TrimSuffix(name, ".js") + ".d.ts"
		err = errors.Join(err, read(types, path.Join("functions/page/assets", types)))
	}
	err = errors.Join(err, read("LICENSE", "LICENSE"), read("README.md", "infra/docs/STOREFRONT.md"))
	files["README.md"] = link.ReplaceAll(files["README.md"], []byte("$1"))
	files["language.d.ts"] = languageTypes
	files["package.json"] = bytes.Replace(manifest, []byte("0.0.0"), []byte(sale.ProgramVersion), 1)
	return files, err
}

// Pack returns the tarball of the files, and what npm would call it.
func Pack(files map[string][]byte) (name string, tarball []byte, err error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", nil, err
	}
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := t.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name])), ModTime: packed})
		if err == nil {
			_, err = t.Write(files[name])
		}
		if err != nil {
			return "", nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return "", nil, fmt.Errorf("pack: %w", err)
	}
	return fmt.Sprintf("%s-%s.tgz", Name, sale.ProgramVersion), b.Bytes(), nil
}
