package mutants

const (
	streamPoller  = "infra/local/streampoller/"
	streamTests   = "./infra/local/streampoller"
	localBus      = "infra/local/eventbus/"
	localBusTests = "./infra/local/eventbus"
	patterns      = "infra/local/eventpattern/pattern.go"
	patternTests  = "./infra/local/eventpattern"
	localStack    = "infra/local/stack/"
	attacks       = "./infra/proof/security"
	everyPort     = "^TestNoPortOfTheStack"
)

// ofTheLocalStack break what stands for Lambda's event source mapping and for EventBridge: the
// order events are tried over it, and it would hide their faults.
var ofTheLocalStack = []mutant{
	{"the checkpoint is written before the function has answered", "P26", streamTests, "^TestAProcessThatDies", []edit{{streamPoller + "poller.go",
		`		n, err := s.p.invoke(work, batch)`, `		s.finish(batch)
		n, err := s.p.invoke(work, batch)`}}},
	{"a partial response is not read", "P26", streamTests, "^TestEverythingFromTheLowest", []edit{{streamPoller + "poller.go",
		`		if failed[r.number] {`, `		if failed[r.number] && len(failed) == 0 {`}}},
	{"records before the highest that failed count as done", "P26", streamTests, "^TestEverythingFromTheLowest", []edit{{streamPoller + "poller.go",
		`	for i, r := range batch {
		if failed[r.number] {`, `	for i := len(batch) - 1; i >= 0; i-- {
		if failed[batch[i].number] {`}}},
	{"a function's error counts as success", "P26", streamTests, "^TestAFailedBatch", []edit{{streamPoller + "poller.go",
		`	if functionError != "" {`, `	if false {`}}},
	{"a batch that failed is dropped", "P26", streamTests, "^TestAFailedBatch", []edit{{streamPoller + "poller.go",
		`			eventsource.Sleep(ctx, pause.Next())
			if ctx.Err() != nil {`, `			eventsource.Sleep(ctx, pause.Next())
			if true {`}}},
	{"the stack's own dice take the place of relays that are named", "P28", "./infra/local/stack", "^TestNamedRelays", []edit{{localStack + "dice.go",
		`asks && s.o.Parameters["DrawRelays"] == ""`, `asks`}}},
	{"the stack's own dice are for functions that draw nothing", "P28", "./infra/local/stack", "^TestNamedRelays", []edit{{localStack + "dice.go",
		`if _, asks := env["DRAW_RELAYS"]; asks &&`, `if _, asks := env["DRAW_RELAYS"]; (asks || !asks) &&`}}},
	{"no filter is applied", "P26", streamTests, "^TestWhatNoFilterLetsThrough", []edit{{streamPoller + "shard.go",
		`	return len(p.filters) == 0`, `	return true`}}},
	{"records of one item are in several lanes", "P26", streamTests, "^TestItemsRunAtOnce", []edit{{streamPoller + "shard.go",
		`json.Marshal(change["Keys"])`, `json.Marshal(change["SequenceNumber"])`}}},
	{"the progress passes over a record that fails in another lane", "P26", streamTests, "^TestItemsRunAtOnce", []edit{{streamPoller + "shard.go",
		`len(s.waiting) > 0 && s.waiting[0].done {`, `len(s.waiting) > 0 {`}}},
	{"a child shard is read beside its parent", "P26", streamTests, "^TestAChildIsRead", []edit{{streamPoller + "poller.go",
		`(!listed[parent] ||`, `(true || !listed[parent] ||`}}},
	{"a shard that ended is done before its records are", "P26", streamTests, "^TestAShardThatEnded", []edit{{streamPoller + "shard.go",
		`Ended: ended && len(s.waiting) == 0`, `Ended: ended`}}},
	{"the progress of another stream counts", "P26", streamTests, "^TestAProcessThatDies", []edit{{streamPoller + "shard.go",
		`	if c.Stream != stream || c.Shards == nil {`, `	if c.Shards == nil {`}}},
	{"the bus takes eleven events in one call", "P26", localBusTests, "^TestACallHasEventBridgesLimits", []edit{{localBus + "server.go",
		`n > maxEntries {`, `n > maxEntries+1 {`}}},
	{"the bus takes calls of any size", "P26", localBusTests, "^TestACallHasEventBridgesLimits", []edit{{localBus + "server.go",
		`	if total >= maxTotalBytes {`, `	if false {`}}},
	{"the answer of an entry that is refused is lost", "P26", localBusTests, "^TestEveryEntryIsJudgedAlone", []edit{{localBus + "server.go",
		`			results[i] = *refused`, `			results[i].EventID = rand.Text()`}}},
	{"an entry that is throttled is recorded", "P26", localBusTests, "^TestTroubleIsMet", []edit{{localBus + "server.go",
		`ErrorMessage: "Rate exceeded"}
			continue`, `ErrorMessage: "Rate exceeded"}`}}},
	{"an event that was not recorded counts as accepted", "P26", localBusTests, "^TestACallThatCannotBeRecorded", []edit{{localBus + "server.go",
		`s.file.add(accepted); err != nil {`, `s.file.add(accepted); err != nil && len(accepted) == 0 {`}}},
	{"an event is written behind a half of another", "P26", localBusTests, "^TestAfterAnInterruptedWrite", []edit{{localBus + "server.go",
		`	err := l.cut()`, `	var err error`}}},
	{"a record that one field does not match is let through", "P26", patternTests, "^TestRecordsMatch", []edit{{patterns,
		`		if !below.matches(next) {`, `		if below.matches(next) {
			return true
		}
		if false {`}}},
	{"the engine listens where browsers connect to", "P12", attacks, everyPort, []edit{{localStack + "stack.go",
		`, Sheltered: true`, ``}}},
	{"the DynamoDB port answers every page", "P12", attacks, everyPort, []edit{{localStack + "stack.go",
		`rules.Handler(timeBodies(h))`, `timeBodies(h)`}}},
	{"a page may take a function's events", "P12", attacks, everyPort, []edit{{"infra/local/lambda/environment.go",
		`guard.Rules{}.Handler(proc.runtimeAPI())`, `proc.runtimeAPI()`}}},
	{"the stack starts with an address of payment that the page does not show", "P19", "./infra/local/stack", "^TestAPaymentAddress", []edit{{localStack + "stack.go",
		`[]string{"PaymentUrl"}`, `nil`}}},
	{"a link on another site's page pays", "P12", attacks, "^TestAnotherSitesPageCannotPay", []edit{{localStack + "parts.go",
		`return !strings.HasPrefix(r.URL.Path, "/_local/")`, `return true`}}},
	{"a member exists whether it does or not", "P26", patternTests, "^TestRecordsMatch", []edit{{patterns,
		`return len(leaves) > 0 == wanted`, `return wanted || true`}}},
}
