package speed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/local/child"
)

const (
	// Linux counts processor time in hundredths of a second.
	tick = 10 * time.Millisecond
	// The processes are at rest when they use less than restUse in restPoll; they get restLimit for it.
	restPoll, restUse = 100 * time.Millisecond, 20 * time.Millisecond
	restLimit         = 30 * time.Second
)

// usage is processor time: of the engines, and of the application servers or the stack.
type usage struct{ servers, engines time.Duration }

// add adds what the processes below one have used, with their children that have ended; elsewhere than on
// Linux nothing.
func (u *usage) add(parent int) {
	children, _ := child.Children(parent)
	for _, c := range children {
		to := &u.servers
		switch filepath.Base(c.Program()) {
		case "postgres", "redis-server", "redis-check-rdb", "mariadbd", "mysqld", "dynoxide": // Debian's redis-server is a link
			to = &u.engines
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Pid)); err == nil { // else it has ended
			// After the name in parentheses: user and system time, its own and those of children it has waited for.
			fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
			for _, ticks := range fields[11:15] {
				n, _ := strconv.Atoi(ticks)
				*to += time.Duration(n) * tick
			}
		}
		u.add(c.Pid)
	}
}

// rested waits until what follows the answers is done, and says since when it is.
func rested(ctx context.Context) (now usage, since time.Time) {
	now.add(os.Getpid())
	since = time.Now()
	for limit := since.Add(restLimit); since.Before(limit) && ctx.Err() == nil; since = time.Now() {
		time.Sleep(restPoll)
		var later usage
		later.add(os.Getpid())
		step := later.servers + later.engines - now.servers - now.engines
		if now = later; step < restUse {
			break
		}
	}
	return now, since
}
