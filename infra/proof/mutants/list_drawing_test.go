package mutants

const (
	leading   = "functions/draw/handler/handler.go"
	course    = "functions/draw/handler/course.go"
	leadTests = "./functions/draw/handler"
)

// ofDrawFunction break the function that leads draws.
var ofDrawFunction = []mutant{
	{"a run does not wait for a step that comes due", "P31", leadTests, "^TestARunWaitsForAStep", []edit{{leading,
		`begun.Elapsed()+wait > watch`, `wait > 0`}}},
	{"a run waits for a step of the next one", "P31", leadTests, "^TestARunWaitsForAStep", []edit{{leading,
		`begun.Elapsed()+wait > watch`, `begun.Elapsed()+wait > 2*watch`}}},
	{"while the round is missing another one is asked for", "P28", leadTests, "^TestWithoutTheRound", []edit{{course,
		`c.dice.Signature(ctx, d.Head.Round)`, `c.dice.Signature(ctx, c.chain.RoundAt(c.now()))`}}},
	{"nobody is told how late the dice are", "P28", leadTests, "^TestWithoutTheRound", []edit{{course,
		`		c.shown.DiceLateSeconds = int64(late / time.Second)
`, `		c.shown.DiceLateSeconds = 0
`}}},
	{"people are called in a sale that is paused", "P29", leadTests, "^TestNobodyIsCalledInASale", []edit{{course,
		`d.Sale.Paused || !later`, `!later`}}},
	{"the roll is read at the end of entering, simulated", "P27", simulation, under + "^rough_draws$", []edit{{course,
		`d.Sale.EnterUntil.Add(c.times.Settle)`, `d.Sale.EnterUntil`}}},
	{"a call that was cut off is left to the next one", "P31", leadTests, "^TestACallThatWasCutOff", []edit{{course,
		`case d.Last.Number > 0 && !d.Last.Complete: //`, `case false: //`}}},
	{"the roll is read for a call that is not by rank", "P31", leadTests, "^TestARunReadsTheRoll", []edit{{course,
		`if due == begin || d.Last.IsByRank(c.now(), c.times.Gap) {`, `{`}}},
	{"the roll is read again for the next call of a run", "P31", leadTests, "^TestARunReadsTheRoll", []edit{{course,
		`if c.ranks != nil {`, `if c.ranks != nil && c.shown.Call < 0 {`}}},
	{"a call that was cut off at the end of the sale stays so", "P14", leadTests, "^TestACallThatWasCutOffIsFinishedAfter", []edit{{course,
		`	case d.Sale.IsRecalled():`, `	case d.Sale.IsRecalled() || !now.Before(d.Sale.EndsAt):`}}},
	{"people are called into a call that is over", "P30", leadTests, "^TestACallThatWasCutOffIsFinishedAfter", []edit{{"shared/ledger/draw.go",
		` && now.Before(c.Until)`, ``}}},
	{"nobody is told how late a call is", "P31", leadTests, "^TestHowLateACall", []edit{{course,
		`return 0, since(d.NextCallAt(c.times.Gap))`, `return 0, 0`}}},
}
