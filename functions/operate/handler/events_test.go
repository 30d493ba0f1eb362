package handler

// requests are those of events/ with a token, and whether each changes something: TestAViewerReadsAndChangesNothing makes
// each of them. asTold is by the Invoke API.
var requests = map[string]bool{
	"operate-sales.json": false, "operate-sale.json": false, "operate-trail.json": false, "operate-buyer.json": false, "operate-order.json": false, "operate-pause.json": true,
	"operate-cancel.json": true, "operate-refunds.json": false, "operate-list.json": false, "operate-mark.json": true,
	"operate-health.json": false, "operate-purchases.json": false, "operate-count.json": true, "operate-create.json": true,
	"operate-send.json": true, "operate-sendings.json": false, "operate-stop.json": true,
}

const asTold = "operate-resume-as-told.json"
