// Command seed handles the requests of schedules and operators: create a sale with its
// stock, add or withdraw units, pause, resume, reschedule, describe or recall it.
package main

import "flashsale/functions/seed/start"

func main() { start.Function() }
