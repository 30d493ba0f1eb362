package handler

import "strings"

// AlarmPlace is where an alarm belongs on the operators' page and in the runbook.
type AlarmPlace struct {
	Sign string
	// Page: it wakes somebody, and its entry in the runbook has a heading of its own. The others
	// are tickets, whose entries are under the heading of their section.
	Page    bool
	Section string // of a ticket
}

// Alarms are all alarms of the stack.
var Alarms = map[string]AlarmPlace{
	"OldestPendingAlarm":      {Sign: signPending, Page: true},
	"OrdersWaitAlarm":         {Sign: signWaiting, Section: "accepted-orders"},
	"MessagesLostAlarm":       {Sign: signWaiting, Section: "accepted-orders"},
	"DeadLettersAlarm":        {Sign: signDeadLetters, Section: "accepted-orders"},
	"PurchasesFailingAlarm":   {Sign: signFunctions, Page: true},
	"ApiFailingAlarm":         {Sign: signFunctions, Page: true},
	"ApiSlowAlarm":            {Sign: signFunctions, Page: true},
	"FrontFailingAlarm":       {Sign: signFunctions, Page: true},
	"FinalizeFailingAlarm":    {Sign: signFunctions, Page: true},
	"FunctionErrorsAlarm":     {Sign: signFunctions, Section: "the-functions"},
	"OperateErrorsAlarm":      {Sign: signFunctions, Section: "the-functions"},
	"PaymentErrorsAlarm":      {Sign: signFunctions, Section: "payments"},
	"DrawErrorsAlarm":         {Sign: signFunctions, Section: "draws"},
	"FunctionsThrottledAlarm": {Sign: signFunctions, Section: "the-functions"},
	"FunctionsSlowAlarm":      {Sign: signFunctions, Section: "the-functions"},
	"ReleaseSilentAlarm":      {Sign: signFunctions, Section: "the-functions"},
	"DrawSilentAlarm":         {Sign: signFunctions, Section: "draws"},
	"EventsExpireAlarm":       {Sign: signEvents, Page: true},
	"EventsLateAlarm":         {Sign: signEvents, Section: "order-events"},
	"EventsStoppedAlarm":      {Sign: signEvents, Section: "order-events"},
	"EventsLostAlarm":         {Sign: signEvents, Section: "order-events"},
	"PublishErrorsAlarm":      {Sign: signEvents, Section: "order-events"},
	"PublishThrottledAlarm":   {Sign: signEvents, Section: "order-events"},
	"BooksWrongAlarm":         {Sign: signBooks, Page: true},
	"ReconcileSilentAlarm":    {Sign: signBooks, Section: "the-functions"},
	"NothingSoldAlarm":        {Sign: signOthers, Page: true},
	"SaleNotSeededAlarm":      {Sign: signOthers, Page: true},
	"WebhooksFailingAlarm":    {Sign: signOthers, Page: true},
	"WebhooksRefusedAlarm":    {Sign: signOthers, Section: "payments"},
	"PaymentsIgnoredAlarm":    {Sign: signOthers, Section: "payments"},
	"PaymentsStoppedAlarm":    {Sign: signOthers, Section: "payments"},
	"PaymentsContradictAlarm": {Sign: signOthers, Section: "payments"},
	"ReleaseBehindAlarm":      {Sign: signOthers, Section: "payments"},
	"RefundsDueAlarm":         {Sign: signOthers, Section: "payments"},
	"DiceLateAlarm":           {Sign: signOthers, Section: "draws"},
	"CallLateAlarm":           {Sign: signOthers, Section: "draws"},
	"UncheckedAlarm":          {Sign: signOthers, Section: "accepted-orders"},
	"TableThrottledAlarm":     {Sign: signOthers, Section: "the-table"},
	"TableFailsAlarm":         {Sign: signOthers, Section: "the-table"},
	"TableSpendingAlarm":      {Sign: signOthers, Section: "the-table"},
	"RetryStormAlarm":         {Sign: signOthers, Section: "the-table"},
	"RefusalsAlarm":           {Sign: signOthers, Section: "floods"},
	"FrontBlocksAlarm":        {Sign: signOthers, Section: "floods"},
}

// Limits are the bounds of those alarms whose figures the function sees itself, and earlier than
// CloudWatch does: the alarm's threshold, or with a metric of it what divides that in its expression.
var Limits = map[string]int64{
	"OldestPendingAlarm": 300, "OrdersWaitAlarm age": 120, "OrdersWaitAlarm depth": 10_000,
	"DeadLettersAlarm": 1, "EventsLostAlarm": 1, "BooksWrongAlarm": 1, "RefundsDueAlarm": 1,
}

// runbook returns the fragment of an alarm's entry in the runbook.
func (p AlarmPlace) runbook(alarm string) string {
	if p.Page {
		return strings.ToLower(alarm)
	}
	return "tickets-" + p.Section
}
