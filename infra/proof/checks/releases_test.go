package checks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"flashsale/shared/sale"
)

const (
	changelogFile = "infra/docs/CHANGELOG.md"
	keptFolder    = "infra/kit/books/testdata/"
)

var changelogSection = regexp.MustCompile(`(?m)^## (\d+)\.(\d+)\.(\d+) - \d{4}-\d\d-\d\d: .+$`)

// notReleased are the findings about the versions of a changelog: the newest is the code's and the output's,
// each is above the one below it, and of each minor some release has kept what it stored.
func notReleased(changelog, template, code string, all []string) (found []finding) {
	say := func(text string, args ...any) {
		found = append(found, finding{changelogFile, 0, fmt.Sprintf(text, args...)})
	}
	kept := map[string]bool{}
	for _, name := range all {
		if file, ok := strings.CutPrefix(name, keptFolder); ok {
			kept[strings.TrimSuffix(file, ".json")] = true
		}
	}
	above := [3]int{}
	for i, m := range changelogSection.FindAllStringSubmatch(changelog, -1) {
		var numbers [3]int
		for k := range numbers {
			numbers[k], _ = strconv.Atoi(m[k+1])
		}
		version := strings.Join(m[1:], ".")
		minor := fmt.Sprintf("%d.%d.0", numbers[0], numbers[1])
		switch {
		case i == 0 && version != code:
			say("the newest section is %s, but sale.Release is %s", version, code)
		case i == 0 && !strings.Contains(template, "\n  Version:\n    Description: The release, by Semantic Versioning; every function's log lines and answers say it, too\n    Value: "+version+"\n"):
			say("the newest section is %s, but the template's output Version is not", version)
		case i > 0 && !before(numbers, above):
			say("%s stands below a version that is not above it", version)
		}
		if !kept[minor] {
			say("of %s there is no %s%s.json: what it stores cannot be tried", version, keptFolder, minor)
		}
		above = numbers
	}
	if above == [3]int{} {
		say("it has no section of a version")
	}
	for file := range kept {
		if !regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(file) + ` - `).MatchString(changelog) {
			say("%s%s.json is of no section", keptFolder, file)
		}
	}
	return found
}

func before(a, b [3]int) bool {
	for k := range a {
		if a[k] != b[k] {
			return a[k] < b[k]
		}
	}
	return false
}

func TestTheVersionIsTheSameEverywhereAndItsPredecessorsAreTried(t *testing.T) {
	changelog, template, all := read(t, changelogFile), read(t, "template.yaml"), files(t)
	report(t, notReleased(changelog, template, sale.Release, all))

	output := "Value: " + sale.Release
	for says, found := range map[string][]finding{
		"but sale.Release is 0.0.1":                notReleased(changelog, template, "0.0.1", all),
		"the template's output Version is not":     notReleased(changelog, strings.Replace(template, output, "Value: 0.0.1", 1), sale.Release, all),
		"but sale.Release is " + sale.Release:      notReleased(strings.Replace(changelog, "## "+sale.Release+" - ", "## ", 1), template, sale.Release, all),
		"it has no section of a version":           notReleased("# Changelog\n", template, sale.Release, nil),
		"0.3.0 stands below a version":             notReleased(strings.Replace(changelog, "## 0.4.0 - ", "## 0.2.7 - ", 1), template, sale.Release, all),
		"there is no " + keptFolder + "0.1.0.json": notReleased(changelog, template, sale.Release, nil),
		keptFolder + "0.0.9.json is of no section": notReleased(changelog, template, sale.Release, append(all, keptFolder+"0.0.9.json")),
	} {
		if !strings.Contains(fmt.Sprint(found), says) {
			t.Errorf("not noticed: %s", says)
		}
	}
}
