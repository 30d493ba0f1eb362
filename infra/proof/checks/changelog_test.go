package checks

import (
	"strings"
	"testing"
)

// TestEveryEntryOfTheChangelogSaysWhatIsSafe: an operator decides by it whether to deploy
// during a sale, and whether to go back.
func TestEveryEntryOfTheChangelogSaysWhatIsSafe(t *testing.T) {
	found := unsafeEntries(read(t, "infra/docs/CHANGELOG.md"))
	if len(found) > 0 {
		t.Errorf("entries that do not say what is safe: %q", found)
	}
	const safe = "**Safe during a sale?** Yes.\n\n**Back to the release before it?** No.\n"
	for text, want := range map[string]int{
		"# Changelog\n": 1, "# Changelog\n\n## a\n\n" + safe: 0, "# Changelog\n\n## a\n\n" + safe + "\n## b\n\n- x\n": 1,
		"# Changelog\n\n## a\n\n**Safe during a sale?** Yes.\n":                                       1,
		"# Changelog\n\n## a\n\n**Safe during a sale?** \n\n**Back to the release before it?** No.\n": 1,
	} {
		if got := unsafeEntries(text); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}

// unsafeEntries returns the titles of the entries without an answer to both questions,
// and the document's own if it has no entry.
func unsafeEntries(text string) (found []string) {
	entries := strings.Split(text, "\n## ")
	if len(entries) == 1 {
		return entries
	}
	for _, entry := range entries[1:] {
		for _, question := range []string{"**Safe during a sale?** ", "**Back to the release before it?** "} {
			if _, answer, asked := strings.Cut(entry, question); !asked || !strings.HasPrefix(answer, "Yes") && !strings.HasPrefix(answer, "No") {
				title, _, _ := strings.Cut(entry, "\n")
				found = append(found, title)
				break
			}
		}
	}
	return found
}
