// Command pay takes the webhooks of payment providers, and buyers' cancellations.
package main

import "flashsale/functions/pay/start"

func main() { start.Function() }
