package fleet

import (
	"encoding/json"
	"fmt"
	"os"
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
	Strategy string     `json:"strategy"`
	Place    shop.Place `json:"place"`
	Number   int        `json:"number"`
	Servers  int        `json:"servers"`
	Seed     uint64     `json:"seed"`
	// Control is the URL of the lab: the user service and the stops.
	Control string `json:"control"`
	Stops   []Stop `json:"stops,omitempty"`
	Slow    []Slow `json:"slow,omitempty"`
	// Smooth: no point takes time, and no user check.
	Smooth bool `json:"smooth,omitempty"`
}

// Stop is a moment of a purchase at which the server asks the lab before it
// goes on.
type Stop struct {
	Point shop.Point `json:"point"`
	// Pass is which passing of the point it is, counted from 1 in one process.
	Pass int `json:"pass"`
}

// Slow says that the From-th to the To-th passing of a point take so long.
type Slow struct {
	Point    shop.Point    `json:"point"`
	From, To int           `json:",omitempty"`
	Pause    time.Duration `json:"pause"`
}

// Hosting reports whether this process was started as an application server.
func Hosting() bool { return os.Getenv(variable) != "" }

func readConfig(text string) (config, error) {
	var c config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	if c.Number < 0 || c.Servers < 1 || c.Place.Stock < 1 {
		return c, fmt.Errorf("read configuration: server %d of %d for %d units", c.Number, c.Servers, c.Place.Stock)
	}
	return c, nil
}
