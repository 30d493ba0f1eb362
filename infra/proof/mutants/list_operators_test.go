package mutants

const (
	operating      = "./functions/operate/handler"
	operatorCaller = "functions/operate/handler/caller.go"
	operatorRoutes = "functions/operate/handler/handler.go"
)

// ofOperators break who may see and change sales, and the name behind a change.
var ofOperators = []mutant{
	{"a viewer changes a sale", "P33", operating, "^TestAViewerReads", []edit{{operatorRoutes,
		`{operator, h.change}`, `{viewer, h.change}`}}},
	{"who has no role changes a sale", "P33", operating, "^TestWhoHasNoRole", []edit{{operatorCaller,
		`case c.role < least:`, `case c.role < least && c.role != nobody:`}}},
	{"a role's name counts in another", "P33", operating, "^TestARoleCounts", []edit{{operatorCaller,
		`		switch name {
		case viewerGroup:
			may = max(may, viewer)
		case operatorGroup:
			may = operator
		}`, `		if strings.Contains(name, operatorGroup) {
			may = operator
		} else if name == viewerGroup {
			may = max(may, viewer)
		}`}}},
	{"brackets around brackets are none", "P33", operating, "^TestARoleCounts", []edit{{operatorCaller,
		`strings.CutPrefix(claim, "["); ok {`, `strings.CutPrefix(strings.Trim(claim, "[]"), ""); ok {
			claim = inner
		}
		if inner, ok := strings.CutPrefix(claim, "["); ok {`}}},
	{"any white space ends a role's name", "P33", operating, "^TestARoleCounts", []edit{{operatorCaller,
		`strings.SplitSeq(claim, " ")`, `strings.FieldsSeq(claim)`}}},
	{"an operator who is also a viewer only reads", "P33", operating, "^TestARoleCounts", []edit{{operatorCaller,
		`may = max(may, viewer)`, `may = viewer`}}},
	{"an event's word stands beside a token", "P33", operating, "^TestAnEventWithTwoCallers", []edit{{operatorCaller,
		`case c.verified && c.told:`, `case false:`}}},
	{"the last of two callers counts", "P33", operating, "^TestAnEventWithTwoCallers", []edit{{operatorCaller,
		`case seen[string(name)]:`, `case false:`}}},
	{"nobody asks by the Invoke API", "P33", operating, "^TestByInvoke", []edit{{operatorCaller,
		`case c.actor == "":`, `case false:`}}},
	{"the word of the Invoke API is verified", "P32", operating, "^TestByInvoke", []edit{{operatorRoutes,
		`r.Actor, r.Verified = c.actor, c.verified`, `r.Actor, r.Verified = c.actor, true`}}},
	{"a change has no author", "P32", operating, "^TestEachChange", []edit{{"shared/change/request.go",
		`Stock: *r.Stock, Author: r.author()}`, `Stock: *r.Stock}`}}},
	{"a change without an id is made", "P32", operating, "^TestABodyThatIsNoChange", []edit{{"shared/change/request.go",
		`	if !sale.ValidID(r.ID) {`, `	if r.ID != "" && !sale.ValidID(r.ID) {`}}},
	{"an edit that is not shown is not counted", "P32", operating, "^TestTheTrailCounts", []edit{{"functions/operate/handler/trail.go",
		`Edits: s.Edits,`, `Edits: 0 * s.Edits,`}}},
	{"a sale that cannot be read hides the others", "P19", operating, "^TestASaleThatCannotBeRead", []edit{{"shared/ledger/standing.go",
		`		one.Err = asInternal(err)
`, `		one.Err = asInternal(err)
		if err != nil {
			panic(err)
		}
`}}},
}
