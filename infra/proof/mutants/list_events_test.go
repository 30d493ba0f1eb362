package mutants

const (
	events         = "shared/ledger/events.go"
	eventBus       = "shared/eventbus/eventbus.go"
	eventDetail    = "shared/eventbus/detail.go"
	eventBusTests  = "./shared/eventbus"
	publishHandler = "functions/publish/handler/handler.go"
	publishTests   = "./functions/publish/handler"

	publishingPlans = "^TestEveryPlan/^scenarios$/^orders_that_are_confirmed,_paid_and_cancelled"
)

// ofEvents break the publishing of order events.
var ofEvents = []mutant{
	{"the answer names the last record that failed", "P26", publishTests, "^TestTheAnswerNamesTheFirst", []edit{{publishHandler,
		`			answer.BatchItemFailures = append(answer.BatchItemFailures, events`,
		`		}
		{
			answer.BatchItemFailures = append(answer.BatchItemFailures[:0], events`}}},
	{"poison blocks its shard", "P26", publishTests, "^TestARecordThatCannotBePublished", []edit{{publishHandler,
		`		if sale.CodeOf(r.err) != sale.Busy && !repeated {`, `		if sale.CodeOf(r.err) == "" {`}}},
	{"an item that cannot be read hides the events behind it", "P26", ledgerTests, overFake + "^an_item_that_cannot_be_read_hides", []edit{{events,
		`				unreadable = append(unreadable, fmt.Errorf("%v: %w", identityOf(it), err))
				continue
`, `				return fmt.Errorf("%v: %w", identityOf(it), err)
`}}},
	{"an item that cannot be read is no event, and nobody is told", "P26", ledgerTests, overFake + "^an_item_that_cannot_be_read_hides", []edit{{events,
		`asInternal(errors.Join(unreadable...))`, `asInternal(errors.Join(unreadable[:0]...))`}}},
	{"poison is dropped", "P26", publishTests, "^TestARecordThatCannotBePublished", []edit{{publishHandler,
		`sendErr := h.failures.Send(ctx, r.raw, r.err)`, `sendErr := error(nil)`}}},
	{"poison behind a failure is stored with each repetition", "P26", publishTests, "^TestPoisonBehindARecord", []edit{{publishHandler,
		`		if sale.CodeOf(r.err) != sale.Busy && !repeated {`, `		if sale.CodeOf(r.err) != sale.Busy {`}}},
	{"poison that cannot be stored is dropped", "P26", publishTests, "^TestARecordThatCannotBeStored", []edit{{publishHandler,
		`			if sendErr == nil {`, `			if true {`}}},
	{"one record that cannot be decoded fails the batch", "P26", publishTests, "^TestARecordThatCannotBePublished", []edit{{publishHandler,
		`		r.err = sale.Fail(sale.Poison, fmt.Errorf("decode record: %w", err))`, `		panic(err)`}}},
	{"what may still be published is stored as poison", "P26", publishTests, "^TestARecordWithAnEventThatMayStill", []edit{{publishHandler,
		`case r.err == nil || sale.CodeOf(r.err) == sale.Poison:`, `case r.err == nil:`}}},
	{"an event without an answer counts as published", "P26", eventBusTests, "^TestWhatStillFailsIsBusy", []edit{{eventBus,
		`			errs[index] = sale.Fail(sale.Busy, fmt.Errorf("put events: %w", err))
`, ``}}},
	{"an entry that failed counts as published", "P26", eventBusTests, "^TestOnlyTheEventsThatFailed", []edit{{eventBus,
		`		case out.Entries[i].ErrorCode != nil:`, `		case false:`}}},
	{"events beyond ten are dropped", "P26", eventBusTests, "^TestEventsArePublishedTenAtATime", []edit{{eventBus,
		`		for len(left) > 0 {
			n := min`, `		for range min(1, len(left)) {
			n := min`}}},
	{"all events are put in one call", "P26", eventBusTests, "^TestEventsArePublishedTenAtATime", []edit{{eventBus,
		`min(maxEntries, len(left))`, `len(left)`}}},
	{"an event that the bus never takes is tried for ever", "P26", eventBusTests, "^TestAnEventThatTheBusWillNeverTake", []edit{{eventBus,
		`			if hopeless(code) {`, `			if false {`}}},
	{"a missing permission makes events poison", "P26", eventBusTests, "^TestWhatStillFailsIsBusy", []edit{{eventBus,
		`|| code == "InvalidArgument"`, `|| code != "ThrottlingException"`}}},
	{"an answer with too few entries is a success", "P26", eventBusTests, "^TestAnAnswerThatDoesNotFit", []edit{{eventBus,
		`	if err == nil && len(out.Entries) != len(entries) {
		err = fmt.Errorf("%d answers to %d events", len(out.Entries), len(entries))
	}`, `	for err == nil && len(out.Entries) < len(entries) {
		out.Entries = append(out.Entries, types.PutEventsResultEntry{})
	}`}}},
	{"occurredAt is in the zone of the machine", "P26", eventBusTests, "^TestAnEventIsJSON", []edit{{eventDetail,
		`e.OccurredAt.UTC().Format`, `e.OccurredAt.Format`}}},
	{"an event's id depends on the clock", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`ID: string(t) + ":" + orderid.String(c.OrderID), OccurredAt`, `ID: string(t) + ":" + time.Now().String(), OccurredAt`}}},
	{"two refunds have one id", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`+ ":" + r.SaleID + ":" + r.Payment, OccurredAt`, `+ ":" + r.SaleID, OccurredAt`}}},
	{"occurredAt is when the event is published", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`orderid.String(c.OrderID), OccurredAt: at,`, `orderid.String(c.OrderID), OccurredAt: at.Add(time.Since(at)),`}}},
	{"a sale was sold out when the event is published", "P26", ledgerTests, overFake + "^a_sale_that_is_sold_out_again", []edit{{events,
		`events[i].OccurredAt = at.UTC()`, `events[i].OccurredAt = at.UTC().Add(time.Since(at))`}}},
	{"an item that did not change is published again", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`return h.Type == e.Type })`, `return false })`}}},
	{"a released order is published as paid", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`	if !c.PaidAt.IsZero() {`, `	if !c.PaidAt.IsZero() || c.Released() {`}}},
	{"a claim does not keep what was paid", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{paying,
		`":amount": num(p.Amount), `, `":amount": num(0), `}}},
	{"an event does not say what was paid", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`paid.Payment, paid.Amount, paid.Currency = c.Payment, c.Amount, c.Currency`, `paid.Payment = c.Payment`}}},
	{"what was paid stays off the bus", "P26", eventBusTests, "^TestAnEventIsJSON", []edit{{eventDetail,
		`	if e.Currency != "" {`, `	if e.Type == sale.EventRefundDue {`}}},
	{"a claim does not repeat its sale's labels", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{purchasing,
		`, Labels: s.sale.Labels,`, `,`}}},
	{"a refund does not repeat its sale's labels", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{refunding,
		`refund.SaleID, refund.User, refund.Labels = o.SaleID, o.User, o.sale.Labels`, `refund.SaleID, refund.User = o.SaleID, o.User`}}},
	{"a listing does not repeat its sale's labels", "P26", ledgerTests, overFake + "^the_end_of_a_sale", []edit{{creating,
		`withLabels(c.Labels, with(listingKey(c.SaleID), item{"closesAt": millis(c.ClosesAt)}))`, `with(listingKey(c.SaleID), item{"closesAt": millis(c.ClosesAt)})`}}},
	{"a creation is repeated with other labels", "P15", ledgerTests, overFake + "^a_sale_with_labels", []edit{{creating,
		` && r.labels() == c.Labels`, ``}}},
	{"labels are not checked", "P19", "./shared/sale", "^TestACreationIsChecked", []edit{{seedingRules,
		`, c.Labels.check())`, `)`}}},
	{"a recount takes a claim that was paid by another amount", "P24", bookTests, "^TestEachKindOfBrokenPayment", []edit{{"infra/kit/books/payments.go",
		`c.currency != "" && (c.amount != asks.price || c.currency != asks.currency)`, `false`}}},
	{"a recount takes a guard of another amount", "P24", bookTests, "^TestEachKindOfBrokenPayment", []edit{{"infra/kit/books/payments.go",
		`			c.currency != "" && (g.amount != c.amount || g.currency != c.currency) ||
			asks.price != 0 && (g.amount != asks.price || g.currency != asks.currency)) {`, `			asks.price < 0) {`}}},
	{"a recount takes other labels than the sale's", "P26", bookTests, "^TestEachKindOfBrokenPayment", []edit{{"infra/kit/books/labels.go",
		`labels != "" && labels != of {`, `labels != of && false {`}}},
	{"refunds due are not published", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`	case kind == "REFUND":`, `	case false:`}}},
	{"a pending claim is published", "P26", ledgerTests, overFake + "^each_change_of_an_order", []edit{{events,
		`	if c.OrderID == 0 {`, `	if c.ID == "" {`}}},
	{"an item for a newer release is interpreted", "P26", ledgerTests, overFake + "^an_item_for_a_newer_release", []edit{{events,
		`		c, err := readClaim(saleID, 0, it)
		return eventsOfClaim(c), err`, `		c, _ := readClaim(saleID, 0, it)
		return eventsOfClaim(c), nil`}}},
	{"a sale of which some shards are empty is sold out", "P26", simulation, under + "^rough_publishing$", []edit{{events,
		`!s.SoldOut()`, `s.Empty.Len() == 0`}}},
	{"the answer names the last record that failed, simulated", "P26", simulation, under + "^rough_publishing$", []edit{{publishHandler,
		`			answer.BatchItemFailures = append(answer.BatchItemFailures, events`,
		`		}
		{
			answer.BatchItemFailures = append(answer.BatchItemFailures[:0], events`}}},
	{"poison blocks its shard, simulated", "P26", simulation, under + "^rough_publishing$", []edit{{publishHandler,
		`		if sale.CodeOf(r.err) != sale.Busy && !repeated {`, `		if sale.CodeOf(r.err) == "" {`}}},
	{"an event without an answer counts as published, in some plan", "P26", enumeration, publishingPlans, []edit{{eventBus,
		`			errs[index] = sale.Fail(sale.Busy, fmt.Errorf("put events: %w", err))
			failed = append(failed, index)
`, ``}}},
	{"poison that cannot be stored is dropped, in some plan", "P26", enumeration, publishingPlans, []edit{{publishHandler,
		`			if sendErr == nil {`, `			if true {`}}},
}
