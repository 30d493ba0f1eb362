package engine

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// place is where an engine listens.
type place struct {
	host string
	port int
	// claim is held for as long as the place is in use; nil if nobody else looks for it.
	claim net.PacketConn
}

func (p place) leave() {
	if p.claim != nil {
		_ = p.claim.Close()
	}
}

// freePort checks beforehand that the port is free: an answer from another server would
// be mistaken for the engine's.
func freePort(port int) (place, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return place{}, fmt.Errorf("listen on port %d: %w", port, ErrPortTaken)
	}
	if err != nil {
		return place{}, err
	}
	return place{host: "127.0.0.1", port: l.Addr().(*net.TCPAddr).Port}, l.Close()
}

// shelters are ports to which browsers refuse to connect, because other protocols use them:
// https://fetch.spec.whatwg.org/#port-blocking. Those that a developer's machine is likely to
// use (NFS, X11) are left out.
var shelters = []int{6665, 6666, 6667, 6668, 6669, 6697, 6566, 10080, 5060, 5061, 4045, 3659, 1719, 1720, 1723}

// hosts is how many loopback addresses are tried. Linux has all of them, macOS the first one.
const hosts = 32

// shelter returns a place to which no browser connects. Stacks that start at the same time all
// look among the same few ports, so each claims its own by the UDP port of the same number,
// which the system frees when the process ends.
func shelter() (place, error) {
	var last error
	for host := 1; host <= hosts; host++ {
		for _, port := range shelters {
			p := place{host: "127.0.0." + strconv.Itoa(host), port: port}
			if p.claim, last = net.ListenPacket("udp", net.JoinHostPort(p.host, strconv.Itoa(port))); last != nil {
				continue
			}
			var l net.Listener
			if l, last = net.Listen("tcp", net.JoinHostPort(p.host, strconv.Itoa(port))); last == nil {
				return p, l.Close()
			}
			p.leave()
		}
	}
	return place{}, fmt.Errorf("listen on one of the ports %v: %w", shelters, last)
}
