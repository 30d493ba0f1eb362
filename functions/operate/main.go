// Command operate answers the operators: how their sales stand, what happened to a buyer's
// order, and who changed what; it pauses, resumes, reschedules, describes, restocks and
// recalls a sale; and it tells what is wrong with the stack. The operators' HTTP API and the command flashsale
// invoke it.
package main

import "flashsale/functions/operate/start"

func main() { start.Function() }
