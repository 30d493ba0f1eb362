package mutants

const (
	page      = "./functions/page/handler"
	pageFiles = "functions/page/handler/"
	signingIn = "infra/local/issuer/signin.go"
)

// ofThePages break the buyer's page and the local sign-in.
var ofThePages = []mutant{
	{"any text becomes the page's sale id", "P13", page, "^TestASaleIDThatIsNotValid", []edit{{pageFiles + "handler.go",
		`if !sale.ValidID(id) {`, `if id == "" {`}}},
	{"another version's file is kept for ever", "P19", page, "^TestAFileIsKeptForever", []edit{{pageFiles + "handler.go",
		`case ok && hash == f.hash:`, `case ok && isHash.MatchString(hash):`}}},
	{"a page's files are unknown to the other version", "P19", page, "^TestAPageOfOneVersion", []edit{{pageFiles + "handler.go",
		`case ok && isHash.MatchString(hash):`, `case false:`}}},
	{"any text is the hash of another version", "P19", page, "^TestAFileIsKeptForever", []edit{{pageFiles + "handler.go",
		`case ok && isHash.MatchString(hash):`, `case ok:`}}},
	{"the page is answered around the front", "P19", page, "^TestARequestAroundTheFront", []edit{{pageFiles + "handler.go",
		`"x-origin-verify")}); err != nil {`, `"x-origin-verify")}); err == nil {`}}},
	{"a file keeps its name when one that it refers to changes", "P19", page, "^TestAFileThatChanges", []edit{{pageFiles + "files.go",
		`	digest := sha256.Sum256(text)
`, `	digest := sha256.Sum256([]byte(name))
`}}},
	{"a page without one of its files starts", "P19", page, "^TestAPageThatRefers", []edit{{pageFiles + "files.go",
		`err = errors.Join(err, failed)`, `_, err = failed, errors.Join(err)`}}},
	{"a sign-in without its client starts", "P19", page, "^TestHowBuyersSignIn", []edit{{pageFiles + "signin.go",
		`if s.Token == "" || s.ClientID == "" || s.Scope == "" {`, `if s.Token == "" {`}}},
	{"an endpoint adds a directive to the policy", "P19", page, "^TestHowBuyersSignIn", []edit{{pageFiles + "content_security_policy.go",
		` || strings.ContainsAny(u.Host, ";, '")`, ``}}},
	{"compressed for who refuses that", "P19", page, "^TestAnswersAreCompressed", []edit{{pageFiles + "handler.go",
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
