// Command page serves the buyer's page of a sale.
package main

import "flashsale/functions/page/start"

func main() { start.Function() }
