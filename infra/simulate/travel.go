package simulate

import "time"

// travel takes the bubble's clock from the year 2000, where it starts, to one in
// which there are sales.
func travel() { time.Sleep(time.Until(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC))) }
