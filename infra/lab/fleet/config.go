package fleet

import (
	"time"

	"flashsale/infra/lab/shop"
)

// variable holds an application server's configuration; a program started with
// it is one.
const variable = "FLASHSALE_LAB_SERVER"

// listening begins the line by which an application server says where it is.
const listening = "listening "

// config is what one application server is told.
type config struct {
	Strategy string
	Place    shop.Place
	Number   int
	Servers  int
	Seed     uint64
	// Control is the URL of the lab: the user service and the stops.
	Control string
	Stops   []Stop
	Slow    []Slow
	// Smooth: no point takes time, and no user check.
	Smooth bool
}

// Stop is a moment of a purchase at which the server asks the lab before it
// goes on.
type Stop struct {
	Point shop.Point
	// Pass is which passing of the point it is, counted from 1 in one process.
	Pass int
}

// Slow says that the From-th to the To-th passing of a point take so long.
type Slow struct {
	Point    shop.Point
	From, To int
	Pause    time.Duration
}
