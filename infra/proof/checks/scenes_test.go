package checks

import "maps"

// scene is about an hour of metrics, by subject (watched.subject), and of requests, by
// their line in the access log (accessLine).
type scene map[string]points

// set sets the same figure for the minutes from first to last.
func (s scene) set(subject string, first, last int, figure float64) scene {
	if s[subject] == nil {
		s[subject] = points{}
	}
	for m := first; m <= last; m++ {
		s[subject][m] = figure
	}
	return s
}

// with sets several metrics in those minutes; a negative figure removes the data.
func (s scene) with(first, last int, figures map[string]float64) scene {
	for subject, figure := range figures {
		if s.set(subject, first, last, figure); figure < 0 {
			for m := first; m <= last; m++ {
				delete(s[subject], m)
			}
		}
	}
	return s
}

// length is the number of minutes of a scene, and begins the minute in which its fault
// begins.
const length, begins = 40, 15

// quiet is a stack whose sale is not drained and has no buyers. Reconciling writes where it
// stands every minute, which the table's stream hands to PublishFunction.
func quiet() scene {
	return scene{}.with(0, length, map[string]float64{
		"ReconcileFunction Invocations": 1, "ReconcileFunction Throttles": 0, "ReconcileFunction Errors": 0,
		"ReleaseFunction Invocations": 1, "ReleaseFunction Throttles": 0, "ReleaseFunction Errors": 0,
		"DrawFunction Invocations": 1, "DrawFunction Throttles": 0, "DrawFunction Errors": 0,
		"reconcile available": 0, "reconcile oversold": 0, "reconcile unbalanced": 0, "reconcile oldestPendingSeconds": 0, "reconcile resent": 0,
		"OrderQueue ApproximateNumberOfMessagesVisible": 0, "OrderDeadLetterQueue ApproximateNumberOfMessagesVisible": 0,
		"ScheduleDeadLetterQueue ApproximateNumberOfMessagesVisible": 0, "EventFailureQueue ApproximateNumberOfMessagesVisible": 0,
		"publish events": 0, "publish failed": 0, "publish poison": 0, "PublishFunction IteratorAge": 1500, "PublishFunction Errors": 0, "PublishFunction Throttles": 0,
	})
}

// open is an ordinary minute-by-minute sale: two hundred of three hundred purchases a
// minute are accepted, some buyers repeat, and all request the page.
func open() scene {
	return quiet().with(5, length, map[string]float64{
		purchaseAnswered: 300, "purchase purchases accepted": 200, "purchase purchases already-ordered": 99, "purchase purchases busy": 1,
		"PurchaseFunction Invocations": 300, "PurchaseFunction Errors": 0, "PurchaseFunction Throttles": 0, "PurchaseFunction Duration": 60,
		"QueryFunction Duration": 20, "FinalizeFunction Duration": 90, "FinalizeFunction Errors": 0, "FinalizeFunction Throttles": 0,
		"Api Count": 2000, "Api 5xx": 1, "Api Latency": 80, "reconcile available": 50000,
		"finalize confirmed": 200, "finalize acceptToConfirmMs": 900, "LedgerTable ConsumedWriteCapacityUnits": 2600,
		"LedgerTable TransactionConflict": 20, "OrderQueue ApproximateAgeOfOldestMessage": 1,
		"publish events": 200,
	})
}

// unpaid is an ordinary sale that asks for payment: a third is released a minute or less
// after it is due.
func unpaid() scene {
	return open().with(10, length, map[string]float64{
		"release released": 60, "release putBack": 60, "release overdueSeconds": 58, "reconcile unpaid": 9000, "reconcile refundsDue": 0,
		webhookTaken: 120, "pay payments paid": 118, "pay payments repeated": 2,
	})
}

// drawn is a sale with a draw in its first call: who is called buys within hours, others try in
// vain.
func drawn() scene {
	return open().with(0, length, map[string]float64{
		"draw diceLateSeconds": 0, "draw callLateSeconds": 0, "purchase entries entered": 900, "purchase entries busy": 1, "purchase purchases not-your-turn": 90, "purchase purchases turn-over": 1,
	})
}

// planned is the opening that `make plan USERS=500000 STOCK=10000 PEAK=50000` predicts
// (seed 1): 10,000 units gone after 1.8 s, 8,372 requests answered "busy", 82,432
// without an environment, 84,000 to 156,046 throttled calls, 15.1 % of 23,946
// transactions in conflict, 115,810 write units, the last order confirmed after 2.8 s.
// It opens in the middle of a minute, so the rush spans two; the rest of the crowd
// arrives, and is refused, in the following minutes.
func planned() scene {
	s := quiet().with(0, 9, map[string]float64{purchaseRefused: 5000, "purchase purchases sale-not-open": 5000, "PurchaseFunction Invocations": 5000, "Api Count": 60000})
	s.set("reconcile available", 10, 10, 10000)
	s.with(10, 10, map[string]float64{
		purchaseAnswered: 310000, purchaseThrottled: 40000, "Api Count": 500000, "Api 5xx": 55000, "Api Latency": 4046, "purchase purchases accepted": 10000, "purchase purchases busy": 5400,
		"purchase purchases sold-out": 285000, "PurchaseFunction Invocations": 300400, "PurchaseFunction Throttles": 49600, "PurchaseFunction Duration": 1143,
		"finalize confirmed": 9000, "finalize batches busy": 3, "finalize acceptToConfirmMs": 2800, "FinalizeFunction Throttles": 12,
		"LedgerTable ReadThrottleEvents": 84000, "LedgerTable WriteKeyRangeThroughputThrottleEvents": 20000, "LedgerTable TransactionConflict": 3616,
		"LedgerTable ConsumedWriteCapacityUnits": 110000, "OrderQueue ApproximateNumberOfMessagesVisible": 6000, "OrderQueue ApproximateAgeOfOldestMessage": 3,
		"QueryFunction Throttles": 900, "PublishFunction Throttles": 40, "publish events": 8000, "publish failed": 900, "PublishFunction IteratorAge": 4000,
	})
	s.with(11, 11, map[string]float64{
		purchaseAnswered: 238000, purchaseThrottled: 12000, "Api Count": 400000, "Api 5xx": 36000, "Api Latency": 3100, "purchase purchases busy": 2972,
		"purchase purchases sold-out": 214000, "PurchaseFunction Invocations": 217000, "PurchaseFunction Throttles": 32832, "PurchaseFunction Duration": 900,
		"finalize confirmed": 1000, "finalize acceptToConfirmMs": 2800, "LedgerTable ReadThrottleEvents": 52046, "publish events": 2000, "PublishFunction IteratorAge": 9000,
		"LedgerTable ConsumedWriteCapacityUnits": 5810, "QueryFunction Throttles": 300,
	})
	for m := 12; m <= 30; m++ {
		come := 60000 / float64(m-11)
		s.with(m, m, map[string]float64{
			purchaseAnswered: come, pageThrottled: 10, "Api Count": 3 * come, "Api 5xx": 2, "Api Latency": 120, "purchase purchases sold-out": come,
			"PurchaseFunction Invocations": come, "PurchaseFunction Throttles": 0, "LedgerTable ReadThrottleEvents": 0,
		})
	}
	return s
}

// silences are scenes in which no alarm may ring.
var silences = map[string]scene{
	"a stack at rest":              quiet(),
	"an ordinary sale":             open(),
	"a sale that asks for payment": unpaid(),
	"it is paused for an hour and goes on: all that was due is released at once": unpaid().set("release overdueSeconds", begins, begins, 3600),
	"a run of release takes its whole two minutes":                               unpaid().every(2, "ReleaseFunction Invocations", "release overdueSeconds", "release released"),
	"a closed sale's unpaid orders are released, three thousand a minute": quiet().with(begins, length, map[string]float64{
		"release released": 3000, "release putBack": 3000, "LedgerTable ConsumedWriteCapacityUnits": 6400}).every(2, "release released", "release putBack"),
	"units that were released before are put back":                  quiet().with(begins, length, map[string]float64{"release putBack": 3000, "LedgerTable ConsumedWriteCapacityUnits": 6400}),
	"the orders of a closed sale are paid":                          quiet().with(begins, length, map[string]float64{"pay payments paid": 6400, "publish events": 6400, "LedgerTable ConsumedWriteCapacityUnits": 6400}),
	"the provider reports other money while nobody has to pay":      quiet().set("pay payments ignored-refunded", begins, length, 3).set("pay payments ignored-unknown", begins, length, 30),
	"payments that come too late become refunds due":                quiet().with(begins, length, map[string]float64{"pay payments refund-due": 3000, "LedgerTable ConsumedWriteCapacityUnits": 6400}),
	"payments come for two minutes faster than the throttle allows": unpaid().set(webhookThrottled, begins, begins+1, 500),
	"a draw": drawn(),
	"the round that decides a draw comes two minutes late":  drawn().set("draw diceLateSeconds", begins, begins, 58).set("draw diceLateSeconds", begins+1, begins+1, 118),
	"a call begins a minute late, because a run has failed": drawn().set("draw callLateSeconds", begins, begins, 55),
	"an opening as it is planned":                           planned(),
	"a sale that is paused for ten minutes": open().with(begins, begins+10, map[string]float64{
		"purchase purchases accepted": 0, "purchase purchases already-ordered": 0, "purchase purchases sale-paused": 300, "Api 5xx": 301, "Distribution Requests": 2000, "Distribution 5xxErrorRate": 15, "reconcile available": 0, "finalize confirmed": -1,
	}),
	"two sales: one is sold out and besieged, nobody wants the other's units": open().with(begins, length, map[string]float64{
		"purchase purchases accepted": 0, "purchase purchases already-ordered": 0, purchaseAnswered: 5000, "purchase purchases sold-out": 4990, "PurchaseFunction Invocations": 5000, "finalize confirmed": -1,
	}),
	"one poison message, delivered five times": open().with(begins, begins+3, map[string]float64{
		"finalize batches poison-message": 2, "finalize failed": 2, "finalize confirmed": -1, "purchase purchases accepted": 1,
	}),
	"now and then an order is confirmed in the last second of a minute": quiet().with(0, length, map[string]float64{"finalize confirmed": 1, "publish events": 1}).every(4, "publish events").every(2, "finalize confirmed"),
	"one order is paid in the last second of a quarter of an hour":      quiet().set("pay payments paid", begins, begins, 1).set("publish events", begins+1, begins+1, 1),
	"the first sale is created, and its first event comes a minute after its receipt": quiet().with(0, begins, map[string]float64{
		"reconcile available": -1, "reconcile oversold": -1, "reconcile unbalanced": -1, "reconcile oldestPendingSeconds": -1, "reconcile resent": -1, "publish events": -1, "publish failed": -1, "publish poison": -1,
	}).set("reconcile available", begins, begins, 0),
	"the last sale is drained": quiet().with(begins, length, map[string]float64{"reconcile available": -1, "publish events": -1, "publish failed": -1, "publish poison": -1}),
	"five thousand buyers a minute click too early": quiet().with(0, length, map[string]float64{
		purchaseRefused: 5000, "purchase purchases sale-not-open": 5000, "PurchaseFunction Invocations": 5000, "Api Count": 60000,
	}),
	"the bus refuses events for two minutes, and they come late": open().with(begins, begins+1, map[string]float64{"publish events": 0}).with(
		begins, begins+2, map[string]float64{"publish failed": 150, "PublishFunction IteratorAge": 180_000}),
	"a draft that opens tomorrow": quiet().set("reconcile unseeded", begins, length, 0),
	"some links name a sale that is long over and deleted": open().with(begins, length, map[string]float64{
		purchaseAnswered: 330, "purchase purchases sale-not-found": 30, "PurchaseFunction Invocations": 330,
	}),
	"a mistyped seeding, tried three times": open().with(begins, begins+2, map[string]float64{"SeedFunction Errors": 1, "seed seedings invalid-request": 1}),
}

// silentFor are scenes in which other alarms ring, but not this one.
var silentFor = []struct {
	alarm, why string
	metrics    scene
}{
	{"WebhooksFailingAlarm", "a flood of webhooks while no order is unpaid", breaking(flood).set("reconcile unpaid", 0, length, 0)},
	{"WebhooksFailingAlarm", "a flood of webhooks in a stack without payment", breaking(flood)},
	{"WebhooksFailingAlarm", "a stranger's webhooks are refused, and the provider's are taken", unpaid().with(begins, length, map[string]float64{
		webhookRefused: 600})},
	{"WebhooksFailingAlarm", "a stranger tries providers that nobody knows, and goes around the front", unpaid().with(begins, length, map[string]float64{
		webhookUnknown: 600, webhookAround: 600})},
	{"WebhooksFailingAlarm", "a stranger's webhooks are refused, and the provider reports only what was paid before", unpaid().with(begins, length, map[string]float64{
		webhookRefused: 600, "pay payments paid": 0, "pay payments repeated": 1, "pay payments invalid-request": 600})},
	{"WebhooksFailingAlarm", "a stranger's webhooks are refused, and all payments are late", unpaid().with(begins, length, map[string]float64{
		webhookRefused: 600, "pay payments paid": 0, "pay payments repeated": 0, "pay payments refund-due": 1, "pay payments invalid-request": 600})},
	{"WebhooksFailingAlarm", "a stranger's webhooks are refused, and nobody pays", unpaid().with(begins, length, map[string]float64{
		webhookTaken: -1, webhookRefused: 600, webhookUnknown: 600, webhookAround: 600, "pay payments unverified": 600, "pay payments paid": -1, "pay payments repeated": -1})},
	{"WebhooksFailingAlarm", "a shop puts its metadata on both of Stripe's objects", unpaid().with(begins, length, map[string]float64{
		webhookRefused: 100, "pay payments wrong-kind": 100})},
	{"NothingSoldAlarm", "strangers without a token, and now and then a buyer", open().with(begins, length, map[string]float64{
		purchaseForged: 5000, purchaseAnswered: 1, "purchase purchases accepted": 1, "purchase purchases already-ordered": 0})},
	{"NothingSoldAlarm", "strangers without a token after everything is sold", open().with(begins, length, map[string]float64{
		purchaseForged: 5000, "reconcile available": 0, "purchase purchases accepted": 0, "purchase purchases already-ordered": 0})},
}

// flood is a minute of unsigned webhooks, far more than the route's throttle lets through.
var flood = map[string]float64{
	webhookTaken: 1, webhookRefused: 12000, webhookThrottled: 60000, "pay payments paid": 1, "pay payments repeated": 0, "Api Count": 74000,
}

// fault is the purpose of an alarm: what is broken, within how many minutes it must ring,
// and the metrics that show it.
type fault struct {
	alarm, fault string
	within       int
	metrics      scene
}

// by is the last minute in which the alarm may begin to ring: a minute is visible when its
// data have arrived.
func (f fault) by(late lateness) int { return begins + f.within - 1 + max(late.aws, late.ours) }

func (f fault) intime(minute int, late lateness) bool {
	return begins <= minute && minute <= f.by(late)
}

var faults = []fault{
	{"PurchasesFailingAlarm", "the table is gone, purchases are told to come back", 6, breaking(map[string]float64{"purchase purchases busy": 290, "purchase purchases accepted": 10, "purchase purchases already-ordered": 0})},
	{"PurchasesFailingAlarm", "purchase crashes at its start and files nothing", 6, breaking(map[string]float64{"purchase purchases busy": -1, "purchase purchases accepted": -1, "purchase purchases already-ordered": -1, "PurchaseFunction Errors": 300})},
	{"PurchasesFailingAlarm", "purchase gets no environments", 6, breaking(map[string]float64{"PurchaseFunction Invocations": -1, "purchase purchases busy": -1, "purchase purchases accepted": -1, "PurchaseFunction Throttles": 300})},
	{"ApiFailingAlarm", "query crashes", 6, breaking(map[string]float64{"Api 5xx": 1700})},
	{"ApiFailingAlarm", "query crashes while the sale is paused", 6, breaking(map[string]float64{"Api 5xx": 2000, "purchase purchases sale-paused": 300, "purchase purchases accepted": 0, "reconcile available": 0})},
	{"ApiSlowAlarm", "every hundredth request takes five seconds", 6, breaking(map[string]float64{"Api Latency": 5000})},
	{"NothingSoldAlarm", "the authorizer refuses every token", 6, breaking(map[string]float64{
		"purchase purchases accepted": -1, "purchase purchases already-ordered": -1, "purchase purchases busy": -1, "PurchaseFunction Invocations": -1, purchaseAnswered: -1, purchaseForged: 300, "finalize confirmed": -1})},
	{"NothingSoldAlarm", "the eligibility check takes everybody for a bot", 6, breaking(map[string]float64{"purchase purchases accepted": 0, "purchase purchases already-ordered": 0, "purchase purchases not-eligible": 300})},
	// It cannot be told from a wrong issuer: nobody's token is accepted.
	{"NothingSoldAlarm", "a stranger without a token tries 21 times a minute, at night, while a sale has units left", 6, quiet().with(0, length, map[string]float64{
		"reconcile available": 40}).set(purchaseForged, begins, length, 21)},
	{"WebhooksFailingAlarm", "a flood of unsigned webhooks keeps the provider's out", 6, unpaid().with(begins, length, flood)},
	{"WebhooksFailingAlarm", "the same, and a pass of reconcile takes three minutes", 6, unpaid().with(begins, length, flood).every(3, "reconcile unpaid")},
	{"WebhooksFailingAlarm", "what the provider reports cannot be read", 6, unpaid().with(begins, length, map[string]float64{
		webhookTaken: -1, webhookRefused: 20, "pay payments invalid-request": 20, "pay payments paid": -1, "pay payments repeated": -1})},
	{"WebhooksFailingAlarm", "StripeEvents is the other kind, and Stripe reports other things, too", 6, unpaid().with(begins, length, map[string]float64{
		webhookRefused: 40, "pay payments wrong-kind": 40, "pay payments ignored": 3, "pay payments paid": -1, "pay payments repeated": -1})},
	{"WebhooksFailingAlarm", "pay cannot reach the table", 6, unpaid().with(begins, length, map[string]float64{
		webhookTaken: -1, webhookFailed: 120, "pay payments paid": -1, "pay payments repeated": -1, "pay payments busy": 120})},
	{"WebhooksFailingAlarm", "pay gets no environment", 6, unpaid().with(begins, length, map[string]float64{
		webhookTaken: -1, webhookUnserved: 120, "pay payments paid": -1, "pay payments repeated": -1})},
	{"BooksWrongAlarm", "one unit too many was sold", 4, breaking(map[string]float64{"reconcile oversold": 1, "reconcile unbalanced": 1})},
	{"BooksWrongAlarm", "a receipt does not balance, and a pass takes three minutes", 8, breaking(map[string]float64{"reconcile unbalanced": 1}).every(3, "reconcile unbalanced", "reconcile oversold")},
	{"OldestPendingAlarm", "an order gets no id", 4, breaking(map[string]float64{"reconcile oldestPendingSeconds": 310})},
	{"FinalizeFailingAlarm", "finalize crashes at its start and files nothing", 3, breaking(map[string]float64{"finalize confirmed": -1, "FinalizeFunction Errors": 40})},
	{"FinalizeFailingAlarm", "every batch fails", 3, breaking(map[string]float64{"finalize confirmed": 0, "finalize batches internal": 40, "FinalizeFunction Errors": 40})},
	{"FinalizeFailingAlarm", "finalize gets no environment", 3, breaking(map[string]float64{"finalize confirmed": -1, "FinalizeFunction Throttles": 9})},
	{"SaleNotSeededAlarm", "a seeding was cut off a quarter of an hour before the opening, and nobody comes yet", 3, quiet().set("reconcile unseeded", begins, length, 1)},
	{"SaleNotSeededAlarm", "the same, and a pass takes three minutes", 8, quiet().set("reconcile unseeded", begins, length, 1).every(3, "reconcile unseeded")},
	{"SaleNotSeededAlarm", "no schedule has seeded the sale, and its buyers come", 3, quiet().with(begins, length, map[string]float64{
		purchaseAnswered: 300, "PurchaseFunction Invocations": 300, "purchase purchases sale-not-found": 300})},
	{"SaleNotSeededAlarm", "one of two sales is not there", 3, breaking(map[string]float64{
		purchaseAnswered: 700, "PurchaseFunction Invocations": 700, "purchase purchases sale-not-found": 400})},
	{"FunctionErrorsAlarm", "query crashes once", 4, breaking(map[string]float64{"QueryFunction Errors": 1})},
	{"FunctionErrorsAlarm", "a new version of finalize cannot read the table", 4, breaking(map[string]float64{"finalize batches internal": 3})},
	{"FunctionErrorsAlarm", "a seeding meets what nobody knows", 4, breaking(map[string]float64{"SeedFunction Errors": 1, "seed seedings internal": 1})},
	{"FunctionErrorsAlarm", "one purchase is answered 500", 4, quiet().set("purchase purchases internal", begins, begins, 1)},
	{"FunctionsThrottledAlarm", "query is refused environments", 6, breaking(map[string]float64{"QueryFunction Throttles": 3})},
	{"FunctionsThrottledAlarm", "passes of reconcile overlap", 6, breaking(map[string]float64{"ReconcileFunction Throttles": 1})},
	{"FunctionsSlowAlarm", "the table answers late", 6, breaking(map[string]float64{"PurchaseFunction Duration": 5000})},
	{"FunctionsSlowAlarm", "finalize comes near its timeout", 6, breaking(map[string]float64{"FinalizeFunction Duration": 4200})},
	{"ReconcileSilentAlarm", "the schedule is off", 8, breaking(map[string]float64{"ReconcileFunction Invocations": -1})},
	{"ReleaseSilentAlarm", "the schedule is off", 6, breaking(map[string]float64{"ReleaseFunction Invocations": -1})},
	{"ReleaseBehindAlarm", "releases fail, and unpaid orders are ever longer due", 6, unpaid().with(begins, length, map[string]float64{"release overdueSeconds": 200, "release released": 0})},
	{"ReleaseBehindAlarm", "there is more to release than a run can", 8, unpaid().with(begins, length, map[string]float64{"release overdueSeconds": 240}).every(2, "release overdueSeconds")},
	{"RefundsDueAlarm", "a buyer pays after the release", 3, unpaid().set("reconcile refundsDue", begins, length, 1)},
	{"RefundsDueAlarm", "a drained sale's order is paid twice, and a pass takes three minutes", 5, quiet().set("reconcile refundsDue", begins, length, 1).every(3, "reconcile refundsDue")},
	{"DrawSilentAlarm", "the schedule is off", 6, breaking(map[string]float64{"DrawFunction Invocations": -1})},
	{"DiceLateAlarm", "the beacon is down", 4, drawn().set("draw diceLateSeconds", begins, length, 310)},
	{"DiceLateAlarm", "no relay can be reached, and a run takes two minutes", 6, drawn().set("draw diceLateSeconds", begins, length, 400).every(2, "draw diceLateSeconds")},
	{"CallLateAlarm", "no call can begin", 4, drawn().set("draw callLateSeconds", begins, length, 190)},
	{"DrawErrorsAlarm", "a roll cannot be closed", 4, breaking(map[string]float64{"DrawFunction Errors": 1})},
	{"DrawErrorsAlarm", "an entry is answered 500", 4, drawn().set("purchase entries internal", begins, begins, 1)},
	{"FunctionsThrottledAlarm", "runs of draw overlap", 6, breaking(map[string]float64{"DrawFunction Throttles": 1})},
	{"FunctionsThrottledAlarm", "passes of release overlap", 6, breaking(map[string]float64{"ReleaseFunction Throttles": 1})},
	{"PaymentErrorsAlarm", "release cannot read the table", 4, breaking(map[string]float64{"ReleaseFunction Errors": 1})},
	{"OrdersWaitAlarm", "the queue is not read", 6, breaking(map[string]float64{"OrderQueue ApproximateAgeOfOldestMessage": 150})},
	{"OrdersWaitAlarm", "more orders come than are finalized", 6, breaking(map[string]float64{"OrderQueue ApproximateNumberOfMessagesVisible": 12000})},
	{"OrdersWaitAlarm", "some orders are late", 6, breaking(map[string]float64{"finalize acceptToConfirmMs": 45000})},
	{"DeadLettersAlarm", "an order message is given up", 4, breaking(map[string]float64{"OrderDeadLetterQueue ApproximateNumberOfMessagesVisible": 1})},
	{"DeadLettersAlarm", "a seeding is given up", 4, breaking(map[string]float64{"ScheduleDeadLetterQueue ApproximateNumberOfMessagesVisible": 1})},
	{"MessagesLostAlarm", "SQS refuses messages", 5, breaking(map[string]float64{"purchase unsent": 12})},
	{"MessagesLostAlarm", "messages get lost", 5, breaking(map[string]float64{"reconcile resent": 150})},
	{"UncheckedAlarm", "the eligibility check does not answer", 5, breaking(map[string]float64{"purchase unchecked": 30})},
	{"TableThrottledAlarm", "the table is at its limit", 6, breaking(map[string]float64{"LedgerTable WriteMaxOnDemandThroughputThrottleEvents": 5})},
	{"TableThrottledAlarm", "a sale has too few shards", 6, breaking(map[string]float64{"LedgerTable TransactionConflict": 3500})},
	{"TableFailsAlarm", "DynamoDB fails", 5, breaking(map[string]float64{"LedgerTable SystemErrors TransactWriteItems": 4})},
	{"TableSpendingAlarm", "somebody writes the table full", 4, breaking(map[string]float64{"LedgerTable ConsumedWriteCapacityUnits": 300000})},
	{"RetryStormAlarm", "conflicts are retried for ever", 7, breaking(map[string]float64{"finalize confirmed": -1, "LedgerTable ConsumedWriteCapacityUnits": 9000})},
	{"FrontFailingAlarm", "the front does not reach the API", 6, breaking(map[string]float64{"Distribution Requests": 2000, "Distribution 5xxErrorRate": 100})},
	{"PaymentErrorsAlarm", "a webhook is answered 500", 4, breaking(map[string]float64{"pay payments internal": 1})},
	{"PaymentErrorsAlarm", "cancelling crashes", 4, breaking(map[string]float64{"PayFunction Errors": 1})},
	{"PaymentsIgnoredAlarm", "a refund is made at the provider", 3, unpaid().set("pay payments ignored-refunded", begins, begins, 1)},
	{"PaymentsIgnoredAlarm", "Stripe reports charges only", 3, unpaid().with(begins, length, map[string]float64{
		"pay payments ignored-charge": 20, "pay payments paid": -1, "pay payments repeated": -1})},
	{"PaymentsIgnoredAlarm", "a buyer disputes, and a pass of reconcile takes three minutes", 4, unpaid().set("pay payments ignored-disputed", begins+1, begins+1, 1).every(3, "reconcile unpaid")},
	{"PaymentsIgnoredAlarm", "the shop's sessions cost nothing", 3, unpaid().set("pay payments ignored-free", begins, begins, 1)},
	{"PaymentsIgnoredAlarm", "the provider has a type of its own", 3, unpaid().set("pay payments ignored-unknown", begins, begins, 1)},
	{"PaymentsContradictAlarm", "a payment is reported for a second order", 3, unpaid().set("pay contradicting", begins, begins, 1)},
	{"WebhooksRefusedAlarm", "the secret is another one", 6, breaking(map[string]float64{webhookRefused: 20})},
	{"WebhooksRefusedAlarm", "the secret is not deployed any more, while no order is unpaid", 6, breaking(map[string]float64{webhookUnknown: 5})},
	{"WebhooksRefusedAlarm", "a front was created, and the provider still uses ApiUrl, while no order is unpaid", 6, breaking(map[string]float64{webhookAround: 5})},
	{"OperateErrorsAlarm", "operate crashes", 4, breaking(map[string]float64{"OperateFunction Errors": 1})},
	{"OperateErrorsAlarm", "an operator is answered 500", 4, breaking(map[string]float64{"operate operations internal": 1})},
	{"FunctionsThrottledAlarm", "operate gets too few environments", 6, breaking(map[string]float64{"OperateFunction Throttles": 9})},
	{"PublishErrorsAlarm", "publish crashes", 4, breaking(map[string]float64{"PublishFunction Errors": 1})},
	{"PublishErrorsAlarm", "publish meets an item that it does not know", 4, breaking(map[string]float64{"publish batches internal": 1})},
	{"PublishThrottledAlarm", "publish gets too few environments", 6, breaking(map[string]float64{"PublishFunction Throttles": 9})},
	{"EventsStoppedAlarm", "the stream is not read, before anything is sold", 15, unread(quiet())},
	{"EventsStoppedAlarm", "the stream is not read, and a pass of reconcile takes three minutes", 16, unread(quiet()).every(3, "reconcile available")},
	{"EventsStoppedAlarm", "the stream is not read, and a sale confirms all its orders within a minute", 15, unread(quiet()).set("finalize confirmed", begins, begins, 10000)},
	{"EventsStoppedAlarm", "the stream is not read in a sale that goes on", 15, unread(open())},
	{"EventsStoppedAlarm", "the stream is not read while orders are paid", 15, unread(quiet()).set("pay payments paid", begins, length, 5)},
	{"EventsLateAlarm", "the role may not put events", 13, ageing(breaking(map[string]float64{"publish events": 0, "publish failed": 200}))},
	{"EventsLateAlarm", "one shard of the stream is behind", 4, breaking(map[string]float64{"PublishFunction IteratorAge": 600_000})},
	{"EventsLateAlarm", "the last records of a sale fail, and are tried every other minute", 5, quiet().set("PublishFunction IteratorAge", begins, length, 700_000).every(2, "PublishFunction IteratorAge")},
	{"EventsExpireAlarm", "nobody has repaired it for six hours", 6, quiet().set("PublishFunction IteratorAge", begins, length, 21_600_000).every(2, "PublishFunction IteratorAge")},
	{"EventsLostAlarm", "a record becomes no event", 4, breaking(map[string]float64{"EventFailureQueue ApproximateNumberOfMessagesVisible": 1})},
	{"FrontBlocksAlarm", "one address buys for thousands", 6, breaking(map[string]float64{"Stack BlockedRequests": 3000})},
	{"RefusalsAlarm", "forged tokens by the thousand", 6, breaking(map[string]float64{purchaseForged: 5000})},
}

// breaking is an ordinary sale in which something breaks and stays broken.
func breaking(metrics map[string]float64) scene { return open().with(begins, length, metrics) }

// unread is a scene in which the table's stream is not read any more.
func unread(s scene) scene {
	return s.with(begins, length, map[string]float64{
		"publish events": -1, "publish failed": -1, "publish poison": -1, "PublishFunction IteratorAge": -1, "PublishFunction Errors": -1, "PublishFunction Throttles": -1,
	})
}

// ageing is a scene in which the records of the stream get no further.
func ageing(s scene) scene {
	for m := begins; m <= length; m++ {
		s.set("PublishFunction IteratorAge", m, m, float64(m-begins)*60_000)
	}
	return s
}

// every keeps only each n-th minute of some metrics.
func (s scene) every(n int, subjects ...string) scene {
	for _, subject := range subjects {
		maps.DeleteFunc(s[subject], func(minute int, _ float64) bool { return minute%n != 0 })
	}
	return s
}
