// Command query answers the GET routes: the public page of a sale, the caller's
// own claim in it, and the caller's own orders.
package main

import "flashsale/functions/query/start"

func main() { start.Function() }
