package mutants

const (
	page      = "./functions/page/handler"
	pageFiles = "functions/page/handler/"
	webPage   = "./shared/webpage"
	webFiles  = "shared/webpage/"
	signingIn = "infra/local/issuer/signin.go"
)

// ofThePages break the buyer's page and the local sign-in.
var ofThePages = []mutant{
	{"any text becomes the page's sale id", "P13", page, "^TestASaleIDThatIsNotValid", []edit{{pageFiles + "handler.go",
		`if !sale.ValidID(id) {`, `if id == "" {`}}},
	{"another version's file is kept for ever", "P19", webPage, "^TestAFileIsKeptForever", []edit{{webFiles + "webpage.go",
		`case ok && hash == f.hash:`, `case ok && isHash.MatchString(hash):`}}},
	{"a page's files are unknown to the other version", "P19", webPage, "^TestAPageOfOneVersion", []edit{{webFiles + "webpage.go",
		`case ok && isHash.MatchString(hash):`, `case false:`}}},
	{"any text is the hash of another version", "P19", webPage, "^TestAFileIsKeptForever", []edit{{webFiles + "webpage.go",
		`case ok && isHash.MatchString(hash):`, `case ok:`}}},
	{"the page is answered around the front", "P19", page, "^TestARequestAroundTheFront", []edit{{pageFiles + "handler.go",
		`"x-origin-verify")}); err != nil {`, `"x-origin-verify")}); err == nil {`}}},
	{"a file keeps its name when one that it refers to changes", "P19", webPage, "^TestAFileThatChanges", []edit{{webFiles + "files.go",
		`	digest := sha256.Sum256(text)
`, `	digest := sha256.Sum256([]byte(name))
`}}},
	{"a page without one of its files starts", "P19", webPage, "^TestAPageThatRefers", []edit{{webFiles + "files.go",
		`err = errors.Join(err, failed)`, `_, err = failed, errors.Join(err)`}}},
	{"a sign-in without its client starts", "P19", webPage, "^TestHowPeopleSignIn", []edit{{webFiles + "signin.go",
		`if s.Token == "" || s.ClientID == "" || s.Scope == "" {`, `if s.Token == "" {`}}},
	{"an endpoint adds a directive to the policy", "P19", webPage, "^TestHowPeopleSignIn", []edit{{webFiles + "policy.go",
		` || strings.ContainsAny(u.Host, ";, '")`, ``}}},
	{"a picture of any origin", "P19", "./functions/seed/handler", "^TestEachRequestHasItsAnswer", []edit{{"shared/sale/presentation.go",
		`httpsOrigin(p.Image) == origin:`, `httpsOrigin(p.Image) != "":`}}},
	{"a creation is refused when the pictures have moved since", "P9", "./functions/seed/handler", "^TestEachRequestHasItsAnswer", []edit{{"shared/change/change.go",
		`err := cmp.Or(c.CheckNew(), c.CheckImage(d.ImageOrigin), c.CheckDraw(d.DrawLead), c.CheckStripe(d.Stripe)); err != nil {`, `err := c.CheckImage(d.ImageOrigin); err != nil {
			return Answer{}, err
		} else if err := c.CheckNew(); err != nil {`}}},
	{"a link that is a script", "P19", "./shared/sale", "^TestAnAddressIsHttps", []edit{{"shared/sale/presentation.go",
		`u.Scheme != "https" || `, ``}}},
	{"an address that a browser reads otherwise", "P19", "./shared/sale", "^TestAnAddressIsHttps", []edit{{"shared/sale/presentation.go",
		`r > '~' || strings.ContainsRune(`, `r > '~' || r == 0 && strings.ContainsRune(`}}},
	{"a creation with another text is the same", "P9", ledgerTests, overFake + "^what_buyers_see", []edit{{"shared/ledger/create.go",
		` && r.presentation() == c.Presentation`, ``}}},
	{"a draft is described", "P15", ledgerTests, overFake + "^a_draft_and_no_sale", []edit{{trail,
		`		before, err := l.readOpenSale(ctx, e.saleID)
		if err != nil {`, `		before, err := l.readOpenSale(ctx, e.saleID)
		if before.ID = e.saleID; err != nil && sale.CodeOf(err) != sale.SaleNotFound {`}}},
	{"the policy allows pictures of any origin", "P19", page, "^TestThePolicyNames", []edit{{webFiles + "policy.go",
		`"'self' "+imageOrigin)`, `"'self' https: ")`}}},
	{"text on the shop's colour is always white", "P19", page, "^TestAnyColourCanBeRead", []edit{{pageFiles + "look.go",
		`if contrast(l.Accent, "#000000") > contrast(l.Accent, on) {`, `if false {`}}},
	{"a colour adds to the style", "P19", page, "^TestTheLookComes", []edit{{pageFiles + "look.go",
		`l.Accent != "" && !isColour.MatchString(l.Accent)`, `false`}}},
	{"compressed for who refuses that", "P19", webPage, "^TestAnswersAreCompressed", []edit{{webFiles + "webpage.go",
		`!weighted || strings.Trim(q, "0.") != ""`, `!weighted || q != ""`}}},
	{"a buyer does not learn of a refund", "P24", "./functions/query/handler", "^TestABuyerSeesWhatBecomes", []edit{{"functions/query/handler/handler.go",
		`if shown.Refunds, err = h.refunds(ctx, c); err != nil {`, `if _, err = h.refunds(ctx, c); err != nil {`}}},
	{"an order does not show its refunds", "P24", "./functions/query/handler", "^TestABuyerSeesWhatBecomes", []edit{{"functions/query/handler/handler.go",
		`if page.Refunds, err = h.refunds(ctx, c); err != nil {`, `if _, err = h.refunds(ctx, c); err != nil {`}}},
	{"a refund that is due is shown as done", "P24", "./functions/query/handler", "^TestABuyerSeesWhatBecomes", []edit{{"shared/httpapi/httpapi.go",
		`if !r.RefundedAt.IsZero() {`, `if r.RefundedAt.IsZero() {`}}},
	{"a code is exchanged twice", "P12", "./infra/local/issuer", "^TestACodeIsForOne", []edit{{signingIn,
		`	delete(g.all, code)
	return found`, `	return found`}}},
	{"a code needs no verifier", "P12", "./infra/local/issuer", "^TestACodeIsForOne", []edit{{signingIn,
		`subtle.ConstantTimeCompare([]byte(challenge), []byte(g.challenge)) != 1`, `subtle.ConstantTimeCompare([]byte(challenge), []byte(g.challenge)) > 1`}}},
	{"signing in may end anywhere", "P12", "./infra/local/issuer", "^TestSigningInGoesNowhere", []edit{{signingIn,
		`q.Get("redirect_uri") != redirect`, `q.Get("redirect_uri") == ""`}}},
}
