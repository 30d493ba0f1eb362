package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"flashsale/shared/sale"
)

// unpack returns the files of a tarball, by name.
func unpack(t *testing.T, tarball []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		t.Fatal(err)
	}
	files, r := map[string]string{}, tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		text, wrong := io.ReadAll(r)
		if err := errors.Join(err, wrong); err != nil {
			t.Fatal(err)
		}
		if h.Mode != 0o644 || !strings.HasPrefix(h.Name, "package/") {
			t.Errorf("%s has the mode %o", h.Name, h.Mode)
		}
		files[strings.TrimPrefix(h.Name, "package/")] = string(text)
	}
}

// A bundler that lacks a file fails at the shop, and a wrong digest keeps a browser from loading it.
func TestThePackageIsWholeAndItsDigestsAreThoseOfAnIntegrityAttribute(t *testing.T) {
	files, err := Files(os.DirFS("../../../.."))
	if err != nil {
		t.Fatal(err)
	}
	name, tarball, err := Pack(files)
	if err != nil || name != "flashsale-storefront-"+sale.ProgramVersion+".tgz" {
		t.Fatalf("%s, %v", name, err)
	}
	packed, digests := unpack(t, tarball), map[string]string{}
	if err := json.Unmarshal([]byte(packed[Integrity]), &digests); err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for name, text := range packed {
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		scripts++
		sum := sha512.Sum384([]byte(text))
		if want := "sha384-" + base64.StdEncoding.EncodeToString(sum[:]); digests[name] != want {
			t.Errorf("%s: the digest is %s, want %s", name, digests[name], want)
		}
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			if packed[m[1]] == "" {
				t.Errorf("%s refers to %s, which is not packed", name, m[1])
			}
		}
	}
	if scripts != len(digests) || scripts < 5 {
		t.Errorf("%d scripts, %d digests", scripts, len(digests))
	}
	var manifest struct {
		Version string
		Exports map[string]any
	}
	if err := json.Unmarshal([]byte(packed["package.json"]), &manifest); err != nil || manifest.Version != sale.ProgramVersion {
		t.Errorf("%+v, %v", manifest, err)
	}
	for _, name := range []string{"flashsale.js", "flashsale.d.ts", "element.js", "element.d.ts", "README.md", "LICENSE"} {
		if packed[name] == "" {
			t.Errorf("it lacks %s", name)
		}
	}
	if _, again, err := Pack(files); err != nil || !bytes.Equal(again, tarball) {
		t.Errorf("packed again it is another one (%v)", err)
	}
}
