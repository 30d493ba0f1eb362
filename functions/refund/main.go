// Command refund asks payment providers to give back what an operator's press says.
package main

import "flashsale/functions/refund/start"

func main() { start.Function() }
