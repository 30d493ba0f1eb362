package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	Table = "table"
	JSON  = "json"
	CSV   = "csv"
)

// form is the flag --output.
type form struct {
	value string
	known []string
}

func (f *form) String() string { return f.value }
func (f *form) Type() string   { return strings.Join(f.known, "|") }
func (f *form) Set(value string) error {
	if !slices.Contains(f.known, value) {
		last := len(f.known) - 1
		return errors.New(strings.Join(f.known[:last], ", ") + " or " + f.known[last])
	}
	f.value = value
	return nil
}

// Forms adds the flag --output with the forms of the command's output besides Table, which is the default.
func Forms(c *cobra.Command, others ...string) {
	f := &form{value: Table, known: append([]string{Table}, others...)}
	c.Flags().VarP(f, "output", "o", "form of the output")
	Complete(c, "output", f.known...)
}

// Complete has shells complete a flag with these values, and with no files.
func Complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func Form(c *cobra.Command) string {
	if f := c.Flags().Lookup("output"); f != nil {
		return f.Value.String()
	}
	return Table
}

// ErrLeft means that the reader of the output has left, as `… | head` does: it has what it wants, so a command that
// ends with it ends well.
var ErrLeft = errors.New("the reader of the output has left")

// output is a command's stdout. It keeps the first error, so that no command must look after each write.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = ErrLeft
	}
	o.err = cmp.Or(o.err, err)
	return n, err
}

// Own is the stream itself beneath a command's output, for a program that may ask at its terminal.
func Own(stdout io.Writer) io.Writer {
	if o, ok := stdout.(*output); ok {
		return o.Writer
	}
	return stdout
}

func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// WriteRecord writes a value in the form that was asked for: as a table means YAML, with the same members.
func WriteRecord(c *cobra.Command, w io.Writer, value any) error {
	if Form(c) == JSON {
		return WriteJSON(w, value)
	}
	return WriteYAML(w, value)
}

// WriteYAML writes a value with the members, in the order, that it has as JSON.
func WriteYAML(w io.Writer, value any) error {
	var document yaml.Node
	text, err := json.Marshal(value)
	if err == nil {
		err = yaml.Unmarshal(text, &document)
	}
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	unfold(&document)
	return WriteNode(w, &document)
}

// WriteNode writes a YAML document. Its error is the writer's, which the encoder would put into words.
func WriteNode(w io.Writer, document *yaml.Node) error {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err := text.WriteTo(w)
	return err
}

// unfold takes the braces and the quotes of JSON away.
func unfold(n *yaml.Node) {
	if n.Style = 0; len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, one := range n.Content {
		unfold(one)
	}
}

// Quote is the words of a command line as a shell takes them, however foreign they are.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" || strings.ContainsFunc(word, isSpecial) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func isSpecial(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./:,+@%", r))
}

// Thousands writes a whole number as 1,234,567.
func Thousands[N int | int64 | float64](n N) string {
	return message.NewPrinter(language.English).Sprint(int64(math.Round(float64(n))))
}
