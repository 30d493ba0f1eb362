// Command publish reads the table's stream and publishes every change of an order to the
// event bus.
package main

import "flashsale/functions/publish/start"

func main() { start.Function() }
