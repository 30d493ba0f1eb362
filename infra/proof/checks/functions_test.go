package checks

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxHTTPTimeout is below API Gateway's limit for an integration, 30 s: after that a
// function's answer is lost.
const maxHTTPTimeout = 29

// function is one AWS::Serverless::Function with Globals merged in.
type function struct {
	resource
	template template
}

func (t template) functions() (all []function) {
	for _, r := range t.resources("AWS::Serverless::Function") {
		all = append(all, function{r, t})
	}
	return all
}

// folder is the function's name below functions/.
func (f function) folder() string { return strings.ToLower(strings.TrimSuffix(f.id, "Function")) }

// property returns the function's own value, or else that of Globals.
func (f function) property(steps ...string) node {
	if own := f.at("Properties").at(steps...); own.Node != nil {
		return own
	}
	return f.template.at("Globals", "Function").at(steps...)
}

// variables returns the function's environment, merged with that of Globals.
func (f function) variables() map[string]node {
	all := map[string]node{}
	for _, from := range []node{f.template.at("Globals", "Function"), f.at("Properties")} {
		for key, value := range from.at("Environment", "Variables").pairs() {
			all[key.Value] = value
		}
	}
	return all
}

func (f function) events(kind string) (all []resource) {
	for key, value := range f.at("Properties", "Events").pairs() {
		if value.at("Type").text() == kind {
			all = append(all, resource{key.Value, value})
		}
	}
	return all
}

func TestFunctionsOfTheTemplate(t *testing.T) {
	folders := functionFolders(t)
	makefile := read(t, "Makefile")
	checkTemplate(t, []templateRule{
		{
			row:  2,
			name: "every function is a folder of functions, and every folder a function",
			check: func(tmpl template) (found []finding) {
				missing := maps.Clone(folders)
				for _, f := range tmpl.functions() {
					if !folders[f.folder()] || !strings.HasSuffix(f.id, "Function") {
						found = append(found, f.find("%s: functions/%s holds no main package", f.id, f.folder()))
					}
					delete(missing, f.folder())
				}
				for name := range missing {
					found = append(found, tmpl.at("Resources").find("functions/%s is not deployed", name))
				}
				return found
			},
			breaks: []edit{
				{"Resources/BasketFunction", "{Type: 'AWS::Serverless::Function'}"},
				{"Resources/QueryFunction", ""},
			},
		},
		{
			row:  2,
			name: "every function is one that the Makefile builds",
			check: func(tmpl template) (found []finding) {
				built := assignment(makefile, "FUNCTIONS")
				for _, f := range tmpl.functions() {
					if !slices.Contains(built, f.id) {
						found = append(found, f.find("%s is not in the Makefile's FUNCTIONS", f.id))
					}
					targets := targetsOf(makefile)
					if !targets["build-%Function"] && !targets["build-"+f.id] {
						found = append(found, f.find("%s has no rule build-%s in the Makefile", f.id, f.id))
					}
				}
				for _, id := range built {
					if _, ok := tmpl.resource("AWS::Serverless::Function", id); !ok {
						found = append(found, tmpl.at("Resources").find("the Makefile builds %s, which is no function", id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/BasketFunction", "{Type: 'AWS::Serverless::Function'}"},
				{"Resources/QueryFunction", ""},
			},
		},
		{
			row:  2,
			name: "every function is a bootstrap for arm64, built by make, with a timeout and a memory size",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, want := range []struct {
						got  node
						name string
						text string
					}{
						{f.property("Handler"), "Handler", "bootstrap"},
						{f.property("Runtime"), "Runtime", "provided.al2023"},
						{f.property("Architectures", "0"), "Architectures", "arm64"},
						{f.at("Metadata", "BuildMethod"), "BuildMethod", "makefile"},
					} {
						if want.got.text() != want.text {
							found = append(found, f.find("%s: %s is %q, want %s", f.id, want.name, want.got.text(), want.text))
						}
					}
					for _, name := range []string{"Timeout", "MemorySize"} {
						if n, ok := tmpl.number(f.property(name)); !ok || n <= 0 {
							found = append(found, f.find("%s: %s is not given", f.id, name))
						}
					}
					limit, given := strings.CutSuffix(f.variables()["GOMEMLIMIT"].text(), "MiB")
					memory, _ := tmpl.number(f.property("MemorySize"))
					if n, err := strconv.Atoi(limit); !given || err != nil || 10*n > 9*memory {
						found = append(found, f.find("%s: GOMEMLIMIT is %q, want a tenth of the memory less than all", f.id, limit))
					}
				}
				return found
			},
			breaks: []edit{
				{"Globals/Function/Handler", "main"},
				{"Globals/Function/Runtime", "go1.x"},
				{"Globals/Function/Architectures", "[x86_64]"},
				{"Globals/Function/MemorySize", ""},
				{"Globals/Function/MemorySize", "256"},
				{"Globals/Function/Environment/Variables/GOMEMLIMIT", ""},
				{"Resources/SeedFunction/Properties/Timeout", ""},
				{"Resources/SeedFunction/Metadata", ""},
			},
		},
		{
			row:  13,
			name: "every function is traced",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if f.property("Tracing").text() != "Active" {
						found = append(found, f.find("%s is not traced", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Globals/Function/Tracing", "PassThrough"},
				{"Resources/SeedFunction/Properties/Tracing", "PassThrough"},
			},
		},
		{
			row:  2,
			name: "a function behind the API gives up before the API does",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if n, _ := tmpl.number(f.property("Timeout")); len(f.events("HttpApi")) > 0 && n > maxHTTPTimeout {
						found = append(found, f.property("Timeout").find("%s: Timeout is %d, want at most %d", f.id, n, maxHTTPTimeout))
					}
				}
				return found
			},
			breaks: []edit{{"Resources/PurchaseFunction/Properties/Timeout", "30"}},
		},
		{
			row:   12,
			name:  "every function has a log group of its own, with a retention, and logs JSON",
			check: logGroups,
			breaks: []edit{
				{"Resources/SeedFunction/Properties/LoggingConfig", ""},
				{"Resources/SeedFunction/Properties/LoggingConfig/LogFormat", "Text"},
				{"Resources/SeedFunction/Properties/LoggingConfig/LogGroup", "!Ref QueryLogGroup"},
				{"Resources/SeedLogGroup/Properties/RetentionInDays", ""},
				{"Resources/SpareLogGroup", "{Type: 'AWS::Logs::LogGroup', Properties: {RetentionInDays: 1}}"},
			},
		},
		{
			row:  3,
			name: "every function has a role of its own",
			check: func(tmpl template) (found []finding) {
				user := map[string]string{}
				for _, f := range tmpl.functions() {
					role := f.property("Role")
					id := role.target()
					if _, ok := tmpl.resource("AWS::IAM::Role", id); !ok {
						found = append(found, f.find("%s: Role is not a role of this template", f.id))
					} else if user[id] != "" {
						found = append(found, role.find("%s has the role of %s", f.id, user[id]))
					}
					user[id] = f.id
				}
				return found
			},
			breaks: []edit{
				{"Resources/QueryFunction/Properties/Role", "!GetAtt PurchaseRole.Arn"},
				{"Resources/QueryFunction/Properties/Role", ""},
			},
		},
	})
}

func logGroups(tmpl template) (found []finding) {
	user := map[string]string{}
	for _, f := range tmpl.functions() {
		config := f.property("LoggingConfig")
		if config.at("LogFormat").text() != "JSON" {
			found = append(found, f.find("%s does not log as JSON", f.id))
		}
		id := config.at("LogGroup").target()
		group, ok := tmpl.resource("AWS::Logs::LogGroup", id)
		switch {
		case !ok:
			found = append(found, f.find("%s: LogGroup is not a log group of this template", f.id))
		case user[id] != "":
			found = append(found, config.find("%s logs where %s does", f.id, user[id]))
		case group.at("Properties", "RetentionInDays").Node == nil:
			found = append(found, group.find("%s keeps its lines forever", id))
		}
		user[id] = f.id
	}
	for _, group := range tmpl.resources("AWS::Logs::LogGroup") {
		if user[group.id] == "" && !slices.Contains(tmpl.at("Resources").references(), group.id) {
			found = append(found, group.find("nothing logs to %s", group.id))
		}
	}
	return found
}

// functionFolders returns the folders below functions/ that contain a main package.
func functionFolders(t testing.TB) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root(t), "functions"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, e := range entries {
		all[e.Name()] = false
		main := "functions/" + e.Name() + "/main.go"
		if text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(main))); err == nil {
			all[e.Name()] = parse(t, main, string(text)).ast.Name.Name == "main"
		}
	}
	return all
}
