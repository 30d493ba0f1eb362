// Command draw leads every draw from the end of entering to its last call: it closes the roll,
// fetches the round of the public dice that decides, and calls as many people as there are
// units.
package main

import "flashsale/functions/draw/start"

func main() { start.Function() }
