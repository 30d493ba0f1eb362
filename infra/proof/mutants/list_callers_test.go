package mutants

// ofCallers break what bounds the requests of one user, and what caches keep of refusals.
var ofCallers = []mutant{
	{"a user sends as much as he likes", "P16", "./functions/purchase/handler", "^TestTooManyRequestsOfAUser", []edit{{"functions/purchase/handler/handler.go",
		`if err = h.callers.Allow(request.User, h.now()); err != nil {`, `if err = h.callers.Allow(request.User, h.now()); false {`}}},
	{"too many requests are noticed after the purchase", "P16", "./functions/purchase/handler", "^TestTooManyRequestsOfAUser", []edit{{"functions/purchase/handler/handler.go",
		`	if err = h.callers.Allow(request.User, h.now()); err != nil {
`, `	_, _ = h.book.Purchase(ctx, request)
	if err = h.callers.Allow(request.User, h.now()); err != nil {
`}}},
	{"a user reads own orders as often as he likes", "P16", "./functions/query/handler", "^TestTooManyQuestionsOfAUser", []edit{{"functions/query/handler/handler.go",
		`	if err := h.callers.Allow(user, h.now()); err != nil {
		return httpapi.Response{}, err
	}
	c, err`, `	c, err`}}},
	{"a user cancels as often as he likes", "P16", "./functions/pay/handler", "^TestTooManyCancellationsOfAUser", []edit{{"functions/pay/handler/handler.go",
		`	if err := h.callers.Allow(user, h.now()); err != nil {
		return httpapi.Response{}, err
	}
`, ``}}},
	{"a busy answer is kept by caches", "P5", "./functions/query/handler", "^TestAFaultIsBusyOrInternal", []edit{{"functions/query/handler/handler.go",
		`isPublic && slices.Contains(lasting, code)`, `isPublic`}}},
	{"one buyer's refusal is kept by caches", "P12", "./functions/query/handler", "^TestRefusalsOfTheQueries", []edit{{"functions/query/handler/handler.go",
		`isPublic && slices.Contains(lasting, code)`, `(isPublic || true) && slices.Contains(lasting, code)`}}},
	{"a refused request costs a token", "P16", "./shared/callers", "^TestAUserSendsABurst", []edit{{"shared/callers/callers.go",
		`		return errTooMany
`, `		l.m.Put(user, bucket{now, debt})
		return errTooMany
`}}},
	{"a user's bucket stays empty until a clock that stepped back catches up", "P16", "./shared/callers", "^TestAUsersBucketAges", []edit{{"shared/callers/callers.go",
		`ok && passed >= 0 {`, `ok {`}}},
	{"the memory of users has no bound", "P16", "./shared/callers", "^TestTheUsersWhoAreRemembered", []edit{{remembering,
		`			delete(m.entries, m.order[m.next])
`, ``}}},
	{"too many requests do not say when to come back", "P5", "./shared/httpapi", "^TestEveryCodeHasItsStatus", []edit{{"shared/httpapi/problem.go",
		`, k.status == http.StatusTooManyRequests`, ``}}},
}
