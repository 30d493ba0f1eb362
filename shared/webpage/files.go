package webpage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"
)

// Common are the files that every page may refer to.
//
//go:embed signin.js
var Common embed.FS

// file is a file as it is served.
type file struct {
	hash    string // of the text, in the file's public name
	media   string
	text    []byte
	gzipped func() []byte // compressed when it is asked for first: many files are never served
}

// public is the name under which the file is served: page.js as page.HASH.js.
func (f file) public(name string) string {
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "." + f.hash + extension
}

// split returns the plain name and the hash of a public name.
func split(public string) (name, hash string) {
	extension := path.Ext(public)
	stem := strings.TrimSuffix(public, extension)
	hash = strings.TrimPrefix(path.Ext(stem), ".")
	return strings.TrimSuffix(stem, path.Ext(stem)) + extension, hash
}

// hashLength is the number of hexadecimal digits in a public name.
const hashLength = 16

var isHash = regexp.MustCompile(fmt.Sprintf("^[0-9a-f]{%d}$", hashLength))

// The template of the page, its style, and the file that has all scripts which the page's own one imports, if
// page.html refers to it.
const (
	pageName    = "page.html"
	styleName   = "style.css"
	modulesName = "modules.js"
)

// medias are the types of the files that may be served, by extension.
var medias = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// References to other files, with the name as submatch.
var (
	inHTML = regexp.MustCompile(`/assets/([\w.-]+)`)
	inCode = regexp.MustCompile(`["']\./([\w.-]+)["']`)
)

var (
	// imports are the lines by which a script imports others that are loaded with it.
	imports = regexp.MustCompile(`(?m)^(import \{[^}]*\} from "\./)([\w.-]+)(";\n)`)
	// declared are the names that belong to a whole script.
	declared  = regexp.MustCompile(`(?m)^(?:export )?(?:async )?(?:const|let|function) (\w+)`)
	ownScript = regexp.MustCompile(`<script type="module" src="/assets/([\w.-]+)">`)
)

// destructured is how a line begins that takes a value apart.
var destructured = regexp.MustCompile(`(?m)^([ \t]*)const ([\[{])`)

// shorten removes what a script has for its readers only: comments, blanks, and the names within its functions. The
// library moves what takes a value apart in front of the constants before it, also if it needs one of them
// (findings/minify-moves-destructuring.sh). What is no constant stays where it is.
func shorten(text []byte) ([]byte, error) {
	var short bytes.Buffer
	text = destructured.ReplaceAll(text, []byte("${1}let $2"))
	err := (&js.Minifier{Version: 2021}).Minify(minify.New(), &short, bytes.NewReader(text), nil)
	return short.Bytes(), err
}

// withoutComments does the little that there is to shorten in words: shorten would need longer for those of all
// languages than for all other scripts, at each cold start.
func withoutComments(text []byte) (short []byte) {
	for line := range bytes.Lines(text) {
		if line[0] != '/' {
			short = append(short, line...)
		}
	}
	return short
}

// gap is what a style needs for its readers only.
var gap = regexp.MustCompile(`\s*([{},;])\s*|(:)\s+|/\*(?s:.*?)\*/\s*`)

// builder computes the files' public names. A file's name contains the hash of its text,
// and its text contains the names of the files that it refers to, so those come first.
type builder struct {
	source fs.FS
	style  string // follows the style
	files  map[string]file
	open   []string // the files whose references are being replaced

	modules  []byte          // the text of modules.js; nil of a page without it
	together map[string]bool // the scripts in it
}

// build reads the page and the files that it refers to, directly or not.
func build(source fs.FS, style string) (*template.Template, map[string]file, error) {
	b := builder{source: source, style: style, files: map[string]file{}, together: map[string]bool{}}
	html, err := b.text(pageName)
	if own := ownScript.FindSubmatch(html); own != nil && bytes.Contains(html, []byte("/assets/"+modulesName)) {
		err = b.join(string(own[1]), map[string]bool{})
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := b.read(pageName, inHTML)
	if err != nil {
		return nil, nil, err
	}
	page, err := template.New(pageName).Funcs(template.FuncMap{"asset": func(name string) (string, error) {
		f, ok := b.files[name]
		if !ok {
			return "", fmt.Errorf("the page does not refer to %s", name)
		}
		return "/assets/" + f.public(name), nil
	}}).Parse(string(text))
	if err != nil {
		return nil, nil, err
	}
	return page, b.files, nil
}

// read returns a file's text with the public names of the files that it refers to.
func (b *builder) read(name string, references *regexp.Regexp) ([]byte, error) {
	if slices.Contains(b.open, name) {
		return nil, fmt.Errorf("read page: %s refers to itself through %v", name, b.open)
	}
	b.open = append(b.open, name)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	text, err := b.text(name)
	if err != nil {
		return nil, err
	}
	if name == styleName {
		text = gap.ReplaceAll(text, []byte("$1$2"))
		text = append(text, b.style...)
	}
	switch isScript := path.Ext(name) == ".js"; {
	case isScript && strings.Contains(name, "-"): // the words of a language, such as words-de.js
		text = withoutComments(text)
	case isScript:
		text = imports.ReplaceAllFunc(text, func(line []byte) []byte {
			if b.together[string(imports.FindSubmatch(line)[2])] {
				return imports.ReplaceAll(line, []byte("${1}"+modulesName+"$3"))
			}
			return line
		})
		if text, err = shorten(text); err != nil {
			return nil, fmt.Errorf("read page: %s: %w", name, err)
		}
	}
	text = references.ReplaceAllFunc(text, func(reference []byte) []byte {
		target := references.FindSubmatch(reference)[1]
		f, failed := b.add(string(target))
		err = errors.Join(err, failed)
		return bytes.Replace(reference, target, []byte(f.public(string(target))), 1)
	})
	return text, err
}

// text returns a file's text as it is in the sources.
func (b *builder) text(name string) ([]byte, error) {
	if name == modulesName && b.modules != nil {
		return b.modules, nil
	}
	text, err := fs.ReadFile(b.source, name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = Common.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return text, nil
}

// join puts the scripts that a script imports into one, each after those that it imports itself. They keep their names,
// so that no two may declare the same.
func (b *builder) join(script string, names map[string]bool) error {
	text, err := b.text(script)
	if err != nil {
		return err
	}
	for _, line := range imports.FindAllSubmatch(text, -1) {
		name := string(line[2])
		if b.together[name] {
			continue
		}
		b.together[name] = true
		if err := b.join(name, names); err != nil {
			return err
		}
		module, err := b.text(name)
		if err != nil {
			return err
		}
		for _, line := range imports.FindAll(module, -1) {
			if bytes.Contains(line, []byte(" as ")) {
				return fmt.Errorf("read page: %s: %s: a script of %s imports under its own names", name, line, modulesName)
			}
		}
		for _, found := range declared.FindAllSubmatch(module, -1) {
			if names[string(found[1])] {
				return fmt.Errorf("read page: %s declares %s, as another script of %s does", name, found[1], modulesName)
			}
			names[string(found[1])] = true
		}
		b.modules = append(b.modules, imports.ReplaceAll(module, nil)...)
	}
	return nil
}

func (b *builder) add(name string) (file, error) {
	if f, ok := b.files[name]; ok {
		return f, nil
	}
	media, ok := medias[path.Ext(name)]
	if !ok {
		return file{}, fmt.Errorf("read page: %s is not of a type that is served", name)
	}
	text, err := b.read(name, inCode)
	if err != nil {
		return file{}, err
	}
	digest := sha256.Sum256(text)
	f := file{
		hash: hex.EncodeToString(digest[:])[:hashLength], media: media, text: text,
		gzipped: sync.OnceValue(func() []byte { return compress(text, gzip.BestCompression) }),
	}
	b.files[name] = f
	return f, nil
}

// compress cannot fail: the level is valid and a buffer takes everything.
func compress(text []byte, level int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, level)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}
