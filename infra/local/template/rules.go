package template

// assert checks the parameters against the template's Rules, as CloudFormation does
// before it deploys anything.
func (r *reader) assert(rules value) {
	for _, rule := range rules.fields() {
		rule.only([]string{"RuleCondition", "Assertions"}, nil)
		if c := rule.raw("RuleCondition"); c != nil && !r.test(c, rule.below("RuleCondition")) {
			continue
		}
		for _, a := range rule.need("Assertions").list() {
			a.only([]string{"Assert", "AssertDescription"}, nil)
			what := a.raw("Assert")
			if what == nil {
				a.fail("Assert is missing")
				return
			}
			if !r.test(what, a.below("Assert")) {
				r.fail(what, rule.at, "%s", a.get("AssertDescription").text("the parameters do not go together"))
			}
		}
	}
}
