package mutants

import "slices"

// edit replaces the single occurrence of old in a file.
type edit struct{ file, old, new string }

// mutant is one way to break the system, and the test that must detect it.
type mutant struct {
	name    string
	promise string
	pkg     string
	test    string // in the syntax of go test -run
	edits   []edit
}

const (
	purchasing           = "shared/ledger/purchase.go"
	readingBeforeRefusal = "shared/ledger/refusal_read.go"
	creating             = "shared/ledger/create.go"
	adding               = "shared/ledger/add.go"
	withdrawing          = "shared/ledger/withdraw.go"
	editing              = "shared/ledger/edit.go"
	remembering          = "shared/recent/recent.go"
	seedingRules         = "shared/sale/seeding.go"
	ledgerItems          = "shared/ledger/items.go"
	ledgerTests          = "./shared/ledger"
	bookTests            = "./infra/kit/books"
	verdictTests         = "./infra/kit/verdict"
	comparing            = "infra/kit/verdict/compare.go"
	untrue               = "^TestEveryUntrueAnswer"
	overFake             = "^TestTheLedgerOverTheFake$/"

	auditing       = "shared/ledger/audit.go"
	auditingClaims = "shared/ledger/audit.go"
	reconciling    = "./functions/reconcile/handler"
	reconcile      = "functions/reconcile/handler/handler.go"
	resending      = "functions/reconcile/handler/resend.go"

	simulation  = "./infra/proof/simulate"
	under       = "^TestSimulationUnder$/"
	enumeration = "./infra/proof/enumerate"
)

var mutants = slices.Concat(ofBuyingAndSeeding, ofGroups, ofPayments, ofReleasing, ofRecalls, ofEverythingElse, ofThePages, ofWebhooks, ofEvents, ofTheLocalStack, ofCallers, ofTheShop, ofTheTrail, ofOperators, ofTheDice, ofDraws, ofDrawFunction, ofPersons)
