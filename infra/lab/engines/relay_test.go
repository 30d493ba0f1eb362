package engines

import (
	"bufio"
	"io"
	"net"
	"testing"
)

// greeter is a server that says its name to whoever connects and then echoes.
func greeter(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, name+"\n")
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// greeted connects and returns the first line, "" if there is none.
func greeted(t *testing.T, addr string) (net.Conn, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	line, _ := bufio.NewReader(c).ReadString('\n')
	return c, line
}

func TestARelayLeadsWhereItIsToldAndCutsWhoWasElsewhere(t *testing.T) {
	first, second := greeter(t, "first"), greeter(t, "second")
	r, err := newRelay(first)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	old, name := greeted(t, r.address())
	if name != "first\n" {
		t.Errorf("led to %q, want first", name)
	}
	r.lead(second)
	if _, err := old.Read(make([]byte, 1)); err == nil {
		t.Error("the connection to the first still says something")
	}
	if _, name := greeted(t, r.address()); name != "second\n" {
		t.Errorf("led to %q, want second", name)
	}
	r.lead("")
	if _, name := greeted(t, r.address()); name != "" {
		t.Errorf("led to %q, want nowhere", name)
	}
}
