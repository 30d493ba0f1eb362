// Command purchase answers POST /sales/{saleId}/orders: units for the
// caller, or the reason why not; and it enters the caller into a sale's draw.
package main

import "flashsale/functions/purchase/start"

func main() { start.Function() }
