package rehearse

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"flashsale/infra/kit/arguments"
)

// folder is the folder of a report.
type folder string

// The files of a report. conditions is written first and marks the folder as a report; sums has
// the others' digests.
const (
	conditionsFile = "conditions.json"
	planFile       = "plan.json"
	planPage       = "plan.html"
	scriptFile     = "k6.js"
	measuredFile   = "measured.json"
	measuredPage   = "report.html"
	receiptFile    = "receipt.json"
	billFile       = "bill.json"
	comparisonFile = "comparison.txt"
	sumsFile       = "SHA256SUMS"
)

var files = []string{conditionsFile, planFile, planPage, scriptFile, measuredFile, measuredPage, receiptFile, billFile, comparisonFile, sumsFile}

// errNoReport means that the folder has something that a rehearsal did not write.
var errNoReport = errors.New("it is not empty and no report of a rehearsal: nothing was changed, name another folder")

func (f folder) path(file string) string { return filepath.Join(string(f), file) }

// prepare makes the folder, and removes what an earlier rehearsal left in it.
func (f folder) prepare() error {
	failed := func(err error) error { return fmt.Errorf("%s=%s: %w", arguments.Name("report"), string(f), err) }
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(string(f), 0o755); err == nil {
			return nil
		}
	}
	if err != nil {
		return failed(err)
	}
	marked := false
	for _, e := range entries {
		if marked = marked || e.Name() == conditionsFile; !e.Type().IsRegular() || !slices.Contains(files, e.Name()) {
			return failed(fmt.Errorf("%w (%s)", errNoReport, e.Name()))
		}
	}
	if len(entries) > 0 && !marked {
		return failed(errNoReport)
	}
	// The mark is removed last: if this is interrupted, the rest is still a report.
	for _, name := range slices.Backward(files) {
		if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err)
		}
	}
	return nil
}

func (f folder) write(file string, text []byte) error {
	if err := os.WriteFile(f.path(file), text, 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (f folder) writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return f.write(file, append(text, '\n'))
}

func (f folder) read(file string, into any) error {
	text, err := os.ReadFile(f.path(file))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read report: %s: %w", file, err)
	}
	return nil
}

// Sums is the list of a folder's files with their SHA-256, as sha256sum writes it.
func Sums(folder string, files []string) ([]byte, error) {
	var list bytes.Buffer
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), name)
	}
	return list.Bytes(), nil
}

// seal writes the sums of the report's files, and returns the digest of that list.
func (f folder) seal() (digest string, err error) {
	summed := slices.DeleteFunc(slices.Sorted(slices.Values(files)), func(name string) bool { return name == sumsFile })
	list, err := Sums(string(f), summed)
	if err != nil {
		return "", fmt.Errorf("seal report: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(list)), f.write(sumsFile, list)
}
