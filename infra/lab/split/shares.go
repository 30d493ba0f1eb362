// Package split holds the strategy that spreads the stock over the application
// servers, so that no buyer reaches a shared store.
package split

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"flashsale/infra/lab/shop"
)

// Specs are all strategies of the package.
func Specs() []shop.Spec { return []shop.Spec{shares()} }

// shares gives every server its part of the stock, and a user's hash leads to
// one server, which remembers who has bought. Nothing is shared, so nothing is
// slow; and nothing knows what the others have. A server that is added has nothing
// to sell, and every change of their number leads users to a server that does not
// know them.
func shares() shop.Spec {
	return shop.Spec{
		Name: "split-shares", Family: "split", Sticky: true,
		Does: "every server sells its own share from memory; a user's hash leads to one server",
		Flaw: "a server that is added has nothing to sell, one that dies keeps its share; and users change servers",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) { return openShare(h) },
		Orders: func(_ context.Context, p shop.Place) (all []shop.Order, err error) {
			files, err := filepath.Glob(filepath.Join(p.Dir, orderFile(p.Sale, "*")))
			if err != nil {
				return nil, fmt.Errorf("find orders: %w", err)
			}
			for _, file := range files {
				users, err := readUsers(file)
				if err != nil {
					return nil, err
				}
				for _, user := range users {
					all = append(all, shop.Order{User: user})
				}
			}
			return all, nil
		},
	}
}

// share is one server's part. Its orders are in a file of its own, which it
// reads when it comes back.
type share struct {
	host shop.Host
	file *os.File

	mu     sync.Mutex
	left   int
	buyers map[string]bool
}

func orderFile(sale, server string) string { return "orders-" + sale + "-" + server + ".txt" }

func openShare(h shop.Host) (*share, error) {
	path := filepath.Join(h.Dir, orderFile(h.Sale, strconv.Itoa(h.Server)))
	users, err := readUsers(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open orders: %w", err)
	}
	s := &share{host: h, file: file, left: part(h.Stock, h.Server, h.Servers) - len(users), buyers: map[string]bool{}}
	for _, user := range users {
		s.buyers[user] = true
	}
	return s, nil
}

// part is server k's share of n's; one that is added later has none.
func part(stock, k, n int) int {
	if k >= n {
		return 0
	}
	units := stock / n
	if k < stock%n {
		units++
	}
	return units
}

// Buy takes a unit of this server's share.
func (s *share) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := s.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	if refused := s.take(user); refused != "" {
		return refused, nil
	}
	s.host.At(ctx, shop.Taken)
	if _, err := s.file.WriteString(user + "\n"); err != nil {
		return "", fmt.Errorf("write order: %w", err)
	}
	s.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}

func (s *share) take(user string) (refused shop.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.buyers[user]:
		return shop.AlreadyOrdered
	case s.left <= 0:
		return shop.SoldOut
	}
	s.left--
	s.buyers[user] = true
	return ""
}

// Close closes the file of orders.
func (s *share) Close() error { return s.file.Close() }

// readUsers reads a file of orders; none is an empty one.
func readUsers(path string) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	defer f.Close()
	var users []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		users = append(users, lines.Text())
	}
	return users, lines.Err()
}
