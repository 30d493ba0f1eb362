// Command release takes back the units of orders that were not paid in time, of every
// sale that asks for payment, and puts them back on sale.
package main

import "flashsale/functions/release/start"

func main() { start.Function() }
