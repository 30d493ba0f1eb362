package handler

import (
	"strings"

	"flashsale/functions/operate/wire"
)

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
	"OldestPendingAlarm":      {Sign: wire.SignPending, Page: true},
	"OrdersWaitAlarm":         {Sign: wire.SignWaiting, Section: "accepted-orders"},
	"MessagesLostAlarm":       {Sign: wire.SignWaiting, Section: "accepted-orders"},
	"DeadLettersAlarm":        {Sign: wire.SignDeadLetters, Section: "accepted-orders"},
	"PurchasesFailingAlarm":   {Sign: wire.SignFunctions, Page: true},
	"ApiFailingAlarm":         {Sign: wire.SignFunctions, Page: true},
	"ApiSlowAlarm":            {Sign: wire.SignFunctions, Page: true},
	"FrontFailingAlarm":       {Sign: wire.SignFunctions, Page: true},
	"FinalizeFailingAlarm":    {Sign: wire.SignFunctions, Page: true},
	"FunctionErrorsAlarm":     {Sign: wire.SignFunctions, Section: "the-functions"},
	"OperateErrorsAlarm":      {Sign: wire.SignFunctions, Section: "the-functions"},
	"PaymentErrorsAlarm":      {Sign: wire.SignFunctions, Section: "payments"},
	"RefundErrorsAlarm":       {Sign: wire.SignFunctions, Section: "payments"},
	"DrawErrorsAlarm":         {Sign: wire.SignFunctions, Section: "draws"},
	"FunctionsThrottledAlarm": {Sign: wire.SignFunctions, Section: "the-functions"},
	"FunctionsSlowAlarm":      {Sign: wire.SignFunctions, Section: "the-functions"},
	"ReleaseSilentAlarm":      {Sign: wire.SignFunctions, Section: "the-functions"},
	"DrawSilentAlarm":         {Sign: wire.SignFunctions, Section: "draws"},
	"EventsExpireAlarm":       {Sign: wire.SignEvents, Page: true},
	"EventsLateAlarm":         {Sign: wire.SignEvents, Section: "order-events"},
	"EventsStoppedAlarm":      {Sign: wire.SignEvents, Section: "order-events"},
	"EventsLostAlarm":         {Sign: wire.SignEvents, Section: "order-events"},
	"PublishErrorsAlarm":      {Sign: wire.SignEvents, Section: "order-events"},
	"PublishThrottledAlarm":   {Sign: wire.SignEvents, Section: "order-events"},
	"BooksWrongAlarm":         {Sign: wire.SignBooks, Page: true},
	"ReconcileSilentAlarm":    {Sign: wire.SignBooks, Section: "the-functions"},
	"NothingSoldAlarm":        {Sign: wire.SignOthers, Page: true},
	"SaleNotSeededAlarm":      {Sign: wire.SignOthers, Page: true},
	"WebhooksFailingAlarm":    {Sign: wire.SignOthers, Page: true},
	"WebhooksRefusedAlarm":    {Sign: wire.SignOthers, Section: "payments"},
	"PaymentsIgnoredAlarm":    {Sign: wire.SignOthers, Section: "payments"},
	"PaymentsStoppedAlarm":    {Sign: wire.SignOthers, Section: "payments"},
	"PaymentsContradictAlarm": {Sign: wire.SignOthers, Section: "payments"},
	"ReleaseBehindAlarm":      {Sign: wire.SignOthers, Section: "payments"},
	"RefundsDueAlarm":         {Sign: wire.SignOthers, Section: "payments"},
	"RefundsFailedAlarm":      {Sign: wire.SignOthers, Section: "payments"},
	"RefundsHaltedAlarm":      {Sign: wire.SignOthers, Section: "payments"},
	"RefundsRefusedAlarm":     {Sign: wire.SignOthers, Section: "payments"},
	"RefundUnknownAlarm":      {Sign: wire.SignOthers, Section: "payments"},
	"RefundAcceptedAlarm":     {Sign: wire.SignOthers, Section: "payments"},
	"PaymentsDisputedAlarm":   {Sign: wire.SignOthers, Section: "payments"},
	"OrdersPaidBackAlarm":     {Sign: wire.SignOthers, Section: "payments"},
	"DiceLateAlarm":           {Sign: wire.SignOthers, Section: "draws"},
	"CallLateAlarm":           {Sign: wire.SignOthers, Section: "draws"},
	"UncheckedAlarm":          {Sign: wire.SignOthers, Section: "accepted-orders"},
	"TableThrottledAlarm":     {Sign: wire.SignOthers, Section: "the-table"},
	"TableFailsAlarm":         {Sign: wire.SignOthers, Section: "the-table"},
	"TableSpendingAlarm":      {Sign: wire.SignOthers, Section: "the-table"},
	"RetryStormAlarm":         {Sign: wire.SignOthers, Section: "the-table"},
	"RefusalsAlarm":           {Sign: wire.SignOthers, Section: "floods"},
	"FrontBlocksAlarm":        {Sign: wire.SignOthers, Section: "floods"},
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
