package system

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flashsale/infra/local/child"
)

// blocked are ports above 1023 to which browsers do not connect:
// https://fetch.spec.whatwg.org/#port-blocking.
var blocked = []uint16{1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}

// listening returns the addresses on which the stack and its children accept connections.
func (v visit) listening() (all []netip.AddrPort) {
	t := v.t
	t.Helper()
	processes, err := child.Children(v.Pid())
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, p := range append(processes, child.Running{Pid: v.Pid()}) {
		open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range open {
			if to, err := os.Readlink(fd); err == nil { // otherwise it has just been closed
				held[to] = true
			}
		}
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			const local, state, inode, listens = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if f[state] != listens || !held["socket:["+f[inode]+"]"] {
				continue
			}
			var a, b, c, d byte
			address, port, _ := strings.Cut(f[local], ":")
			number, err := strconv.ParseUint(port, 16, 16)
			if _, scan := fmt.Sscanf(address, "%02X%02X%02X%02X", &d, &c, &b, &a); scan != nil || err != nil || len(address) != 8 {
				t.Fatalf("cannot read %q", line)
			}
			all = append(all, netip.AddrPortFrom(netip.AddrFrom4([4]byte{a, b, c, d}), uint16(number)))
		}
	}
	return all
}

// A page in the developer's browser can send requests to every port of this machine.
func TestNoPortOfTheStackAnswersAnotherSitesPage(t *testing.T) {
	s := shared(t)
	s.open("ports", 5, 1)
	s.sell("ports", "alice") // so that a function runs, with its runtime's port
	before := s.stored()
	ports := s.listening()
	for _, of := range []string{s.API, s.Lambda, s.DynamoDB, s.SQS, s.Operate} {
		if !slices.ContainsFunc(ports, func(p netip.AddrPort) bool { return "http://"+p.String() == of }) {
			t.Errorf("%s is not among the ports %v", of, ports)
		}
	}
	engines, runtimes := 0, 0
	for _, port := range ports {
		if !port.Addr().IsLoopback() {
			t.Errorf("%v is open to other machines", port)
		}
		if slices.Contains(blocked, port.Port()) {
			engines++
			continue
		}
		// Which requests are another site's is in infra/local/loopback.
		for _, path := range []string{"/", "/2018-06-01/runtime/invocation/next", "/s/ports", "/_local/token?sub=alice", "/_local/authorize", "/_local/pay?order=1", "/_local/live/feed"} {
			for _, header := range []string{"Host: evil.example", "Origin: https://evil.example", "Sec-Fetch-Site: cross-site"} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
					name, value, _ := strings.Cut(header, ": ")
					mode := "no-cors"
					if strings.HasPrefix(path, "/_local/pay") { // by a link, too: it sends a signed webhook for whoever asks
						mode = "navigate"
					}
					a := s.send(method, "http://"+port.String(), path, "{}", name, value, "Sec-Fetch-Mode", mode, "X-Amz-Target", "DynamoDB_20120810.ListTables", "Access-Control-Request-Method", http.MethodPost)
					if a.Status != http.StatusForbidden || a.Header.Get("Access-Control-Allow-Origin") != "" {
						t.Errorf("%s %v%s with %s: %v, allows %q", method, port, path, header, a, a.Header["Access-Control-Allow-Origin"])
					}
				}
			}
		}
		// A program's request passes. The runtime's port is known by its answer.
		a := s.send(http.MethodPost, "http://"+port.String(), "/2018-06-01/runtime/invocation/x/response", "")
		if a.Status == http.StatusForbidden {
			t.Errorf("%v refuses a program", port)
		}
		if strings.Contains(string(a.Body), "InvalidRequestID") {
			runtimes++
		}
	}
	if engines != 1 || runtimes == 0 {
		t.Errorf("%d engines on a port that browsers block, want 1; %d runtimes, want some", engines, runtimes)
	}
	s.unchanged(before)
}
