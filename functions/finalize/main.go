// Command finalize takes order messages from the queue, gives each claim its
// global order id and confirms it.
package main

import "flashsale/functions/finalize/start"

func main() { start.Function() }
