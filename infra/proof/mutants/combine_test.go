package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// combined is a source file with all its mutants: it has a copy of a function for each
// mutant that changes it, called instead of the original; a variable or constant gets
// the mutant's value at the start.
type combined struct {
	source  []byte
	parsed  *ast.File
	fset    *token.FileSet
	decls   map[string]declaration
	inserts map[int]string // by offset
	removed map[int]int    // offsets from → to
	values  map[string]string
	more    strings.Builder
}

// declaration is a function, or one line of a var or const block.
type declaration struct {
	node ast.Node
	text string
	kind token.Token // FUNC, VAR or CONST
	only ast.Node    // the whole block, if this is all of it
}

// errAlone means that a mutant needs a separate build.
var errAlone = errors.New("the edit is not within functions, variables and constants")

func newCombined(source []byte) (*combined, error) {
	c := &combined{source: source, inserts: map[int]string{}, removed: map[int]int{}, values: map[string]string{}}
	var err error
	c.fset = token.NewFileSet()
	if c.parsed, err = parser.ParseFile(c.fset, "", source, 0); err != nil {
		return nil, err
	}
	c.decls, err = declarations(c.fset, c.parsed, source)
	return c, err
}

// declarations returns a file's declarations by name; a method's name is prefixed with
// its receiver's type. Types and imports are one declaration, to detect whether they
// differ.
func declarations(fset *token.FileSet, file *ast.File, source []byte) (map[string]declaration, error) {
	all := map[string]declaration{}
	textOf := func(n ast.Node) string {
		return string(source[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	other := ""
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimLeft(textOf(d.Recv.List[0].Type), "*") + "." + name
			}
			if _, twice := all[name]; twice { // init
				return nil, fmt.Errorf("%s stands twice: %w", name, errAlone)
			}
			all[name] = declaration{d, textOf(d), token.FUNC, nil}
		case *ast.GenDecl:
			if d.Tok != token.VAR && d.Tok != token.CONST {
				other += textOf(d)
				continue
			}
			for _, spec := range d.Specs {
				one := declaration{spec, textOf(spec), d.Tok, nil}
				if len(d.Specs) == 1 {
					one.only = d
				}
				all[spec.(*ast.ValueSpec).Names[0].Name] = one
			}
		}
	}
	all[""] = declaration{nil, other, token.TYPE, nil}
	return all, nil
}

// add adds a mutant of the file.
func (c *combined) add(number int, mutated []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", mutated, 0)
	if err != nil {
		return fmt.Errorf("the mutant is no Go: %w", err)
	}
	decls, err := declarations(fset, file, mutated)
	if err != nil {
		return err
	}
	for name := range c.decls {
		if _, stays := decls[name]; !stays {
			return fmt.Errorf("%s is gone: %w", name, errAlone)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(decls)) {
		now := decls[name]
		before, existed := c.decls[name]
		switch {
		case existed && before.text == now.text:
			continue
		case now.kind == token.TYPE:
			return errAlone
		case !existed && now.kind == token.FUNC:
			c.more.WriteString("\n" + now.text + "\n")
		case !existed:
			c.more.WriteString("\n" + now.kind.String() + " " + now.text + "\n")
		case now.kind == token.FUNC:
			c.addFunction(number, before.node.(*ast.FuncDecl), now, fset)
		default:
			if err := c.addValue(number, name, before, now, fset, mutated); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *combined) offset(p token.Pos) int { return c.fset.Position(p).Offset }

// addFunction adds a function of another name, and a call of it at the start of
// the original.
func (c *combined) addFunction(number int, before *ast.FuncDecl, now declaration, fset *token.FileSet) {
	other := fmt.Sprintf("%s_mutant%d", before.Name.Name, number)
	at := fset.Position(now.node.(*ast.FuncDecl).Name.Pos()).Offset - fset.Position(now.node.Pos()).Offset
	c.more.WriteString("\n" + now.text[:at] + other + now.text[at+len(before.Name.Name):] + "\n")
	call := other + "(" + strings.Join(c.parameters(before.Type.Params), ", ") + ")"
	if before.Recv != nil {
		call = c.parameters(before.Recv)[0] + "." + call
	}
	if before.Type.Results != nil {
		call = "return " + call
	} else {
		call += "; return"
	}
	c.inserts[c.offset(before.Body.Lbrace)+1] += fmt.Sprintf(" if mutantNumber == %d { %s };", number, call)
}

// parameters returns a function's parameters as call arguments; unnamed ones get a
// name.
func (c *combined) parameters(list *ast.FieldList) []string {
	var names []string
	name := func(at token.Pos) string { return fmt.Sprintf("parameter%d", at) }
	for _, field := range list.List {
		dots := ""
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		if len(field.Names) == 0 {
			names = append(names, name(field.Pos())+dots)
			c.inserts[c.offset(field.Pos())] = name(field.Pos()) + " "
		}
		for _, n := range field.Names {
			if n.Name != "_" {
				names = append(names, n.Name+dots)
				continue
			}
			names = append(names, name(n.Pos())+dots)
			c.inserts[c.offset(n.Pos())] = name(n.Pos())
			c.removed[c.offset(n.Pos())] = c.offset(n.End())
		}
	}
	return names
}

// addValue makes a variable, or a former constant, take another value.
func (c *combined) addValue(number int, name string, before, now declaration, fset *token.FileSet, mutated []byte) error {
	was, is := before.node.(*ast.ValueSpec), now.node.(*ast.ValueSpec)
	if len(was.Names) != 1 || len(was.Values) != 1 || len(is.Values) != 1 || was.Type != nil || strings.Contains(before.text, "iota") {
		return fmt.Errorf("%s: %w", name, errAlone)
	}
	if c.values[name] == "" {
		c.values[name] = string(c.source[c.offset(was.Values[0].Pos()):c.offset(was.Values[0].End())])
	}
	value := string(mutated[fset.Position(is.Values[0].Pos()).Offset:fset.Position(is.Values[0].End()).Offset])
	c.values[name] = fmt.Sprintf("chooseMutant(%d, %s, %s)", number, value, c.values[name])
	return nil
}

// text returns the file with all its mutants.
func (c *combined) text() []byte {
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		d := c.decls[name]
		whole := d.node
		if d.only != nil {
			whole = d.only
		}
		c.removed[c.offset(whole.Pos())] = c.offset(whole.End())
		fmt.Fprintf(&c.more, "\nvar %s = %s // %s\n", name, c.values[name], d.kind)
	}
	var out bytes.Buffer
	for i := 0; i < len(c.source); {
		out.WriteString(c.inserts[i])
		if to, ok := c.removed[i]; ok {
			i = to
			continue
		}
		out.WriteByte(c.source[i])
		i++
	}
	out.WriteString(c.more.String())
	return out.Bytes()
}

// numberFile selects a package's mutant: the number at the end of the program's name.
// So a test that starts its own program as another process selects the same mutant,
// whatever the environment.
const numberFile = `package %s

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

var mutantNumber = readMutantNumber()

// -1 is no mutant.
func readMutantNumber() int {
	number, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(os.Args[0]), "."))
	if err != nil {
		return -1
	}
	return number
}

func chooseMutant[T any](number int, mutated, original T) T {
	if mutantNumber == number {
		return mutated
	}
	return original
}
`

// overlay writes files to dir, and the overlay list with which the go command uses them
// instead of the source.
func overlay(dir string, files map[string][]byte) (string, error) {
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for path, text := range files {
		copied := filepath.Join(dir, fmt.Sprintf("%d_%s", len(list.Replace), filepath.Base(path)))
		list.Replace[path] = copied
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, raw, 0o600)
}

var (
	compileError   = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)
	functionNumber = regexp.MustCompile(`^func .*?_mutant(\d+)\(`)
	valueNumber    = regexp.MustCompile(`chooseMutant\((\d+),`)
)

// blame returns the numbers of the mutants that do not compile: first those of
// constants, which have become variables and may be invalid elsewhere.
func blame(errors string, files map[string][]byte) (numbers []int) {
	add := func(found [][]string) {
		for _, f := range found {
			number, err := strconv.Atoi(f[1])
			if err == nil && !slices.Contains(numbers, number) {
				numbers = append(numbers, number)
			}
		}
	}
	for _, text := range files {
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(line, " // const\n") {
				add(valueNumber.FindAllStringSubmatch(line, -1))
			}
		}
	}
	if numbers != nil {
		return numbers
	}
	for _, place := range compileError.FindAllStringSubmatch(errors, -1) {
		raw, err := os.ReadFile(place[1])
		lines := strings.Split(string(raw), "\n")
		at, lineErr := strconv.Atoi(place[2])
		if err != nil || lineErr != nil || at > len(lines) {
			continue
		}
		found := valueNumber.FindAllStringSubmatch(lines[at-1], -1)
		for ; found == nil && at > 0 && !strings.HasPrefix(lines[at-1], "}"); at-- {
			found = functionNumber.FindAllStringSubmatch(lines[at-1], 1)
		}
		add(found)
	}
	return numbers
}
