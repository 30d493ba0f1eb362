// Command reconcile handles every sale that is not drained: it resends order messages
// that must have been lost, and audits the books.
package main

import "flashsale/functions/reconcile/start"

func main() { start.Function() }
