// Command functions is every function in one program, which serves the one that AWS_LAMBDA_FUNCTION_NAME names: the local
// stack then needs one link, where AWS gets a program for each function.
package main

import (
	"fmt"
	"os"

	draw "flashsale/functions/draw/start"
	finalize "flashsale/functions/finalize/start"
	operate "flashsale/functions/operate/start"
	page "flashsale/functions/page/start"
	pay "flashsale/functions/pay/start"
	publish "flashsale/functions/publish/start"
	purchase "flashsale/functions/purchase/start"
	query "flashsale/functions/query/start"
	reconcile "flashsale/functions/reconcile/start"
	refund "flashsale/functions/refund/start"
	release "flashsale/functions/release/start"
	seed "flashsale/functions/seed/start"
)

var functions = map[string]func(){
	"DrawFunction":      draw.Function,
	"FinalizeFunction":  finalize.Function,
	"OperateFunction":   operate.Function,
	"PageFunction":      page.Function,
	"PayFunction":       pay.Function,
	"PublishFunction":   publish.Function,
	"PurchaseFunction":  purchase.Function,
	"QueryFunction":     query.Function,
	"ReconcileFunction": reconcile.Function,
	"RefundFunction":    refund.Function,
	"ReleaseFunction":   release.Function,
	"SeedFunction":      seed.Function,
}

func main() {
	name := os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
	start, known := functions[name]
	if !known {
		fmt.Fprintf(os.Stderr, "there is no function %q\n", name)
		os.Exit(2)
	}
	start()
}
