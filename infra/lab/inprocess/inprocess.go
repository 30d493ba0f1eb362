// Package inprocess holds the strategies that protect the stock inside one
// process: a goroutine that owns it, in the one application server where that is
// right, a mutex in each of three, where it cannot be, because what excludes
// goroutines does not exclude processes, and a share of the stock for each server.
//
// The strategies use package sync and the shop's store, which can only read and
// write. They use no engine.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"flashsale/infra/lab/shop"
)

func Specs() []shop.Spec {
	all := []shop.Spec{{
		// It is right as long as there is one owner: a second process has a second one.
		Name: "channel-owner", Servers: 1,
		Does: "one goroutine owns the stock, requests are sent to it",
		Flaw: "there is one owner per process: it cannot be scaled out",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			o, err := open(h, "orders", h.Stock)
			// Only the worker touches stock and buyers.
			return shop.NewWorker(h, 1, func(ctx context.Context, all []*shop.Purchase) {
				all[0].Outcome, all[0].Err = o.sell(ctx, all[0].User)
			}), err
		},
	}, {
		Name: "mutex-x3", Servers: 3,
		Does: "a mutex around the whole purchase, in each of three processes",
		Flaw: "each process protects its own memory only",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return &locked{host: h, store: store{h.Dir, "orders"}}, nil
		},
	}}
	for i := range all {
		all[i].Family = "in-process"
		all[i].Prepare = func(_ context.Context, p shop.Place) error { return store{dir: p.Dir}.setStock(p.Stock) }
		all[i].Orders = func(_ context.Context, p shop.Place) ([]shop.Order, error) { return store{p.Dir, "orders"}.orders() }
	}
	return all
}

// owner is a part of the stock with its buyers, in one process. Its orders are in a file of its own, which it
// reads when it comes back.
type owner struct {
	host   shop.Host
	store  store
	mu     sync.Mutex
	left   int
	buyers map[string]bool
}

func open(h shop.Host, file string, units int) (*owner, error) {
	o := &owner{host: h, store: store{h.Dir, file}, left: units, buyers: map[string]bool{}}
	sold, err := o.store.orders()
	for _, order := range sold {
		o.buyers[order.User] = true
		o.left--
	}
	return o, err
}

func (o *owner) sell(ctx context.Context, user string) (shop.Outcome, error) {
	if refused := o.take(user); refused != "" {
		return refused, nil
	}
	o.host.At(ctx, shop.Taken)
	if err := o.store.record(user); err != nil {
		return "", err
	}
	o.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}

func (o *owner) take(user string) (refused shop.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.buyers[user]:
		return shop.AlreadyOrdered
	case o.left <= 0:
		return shop.SoldOut
	}
	o.left--
	o.buyers[user] = true
	return ""
}

// locked wraps the whole purchase, user check included, as a synchronized
// service method does. It is right in one process. Three processes have three of
// them.
type locked struct {
	mu    sync.Mutex
	host  shop.Host
	store store
}

// Buy lets one request in at a time.
func (l *locked) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Who waited longer than the buyer did has nobody to sell to.
	if err := ctx.Err(); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Locked)
	return l.sell(ctx, user)
}

// sell reads the stock, compares it and writes what is left: right only if nobody else does
// so at the same time.
func (l *locked) sell(ctx context.Context, user string) (shop.Outcome, error) {
	sold, err := l.store.orders()
	if err != nil || slices.Contains(sold, shop.Order{User: user}) {
		return shop.AlreadyOrdered, err
	}
	left, err := l.store.stock()
	if err != nil {
		return "", err
	}
	if left <= 0 {
		return shop.SoldOut, nil
	}
	if err := l.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Read)
	if err := l.store.setStock(left - 1); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Taken)
	if err := l.store.record(user); err != nil {
		return "", err
	}
	l.host.At(ctx, shop.Recorded)
	return shop.Accepted, nil
}

// Shares gives every server its part of the stock, and a user's hash leads to
// one server, which remembers who has bought. Nothing is shared, so nothing is
// slow; and nothing knows what the others have. A server that is added has nothing
// to sell, and every change of their number leads users to a server that does not
// know them.
func Shares() shop.Spec {
	return shop.Spec{
		Name: "split-shares", Family: "split", Sticky: true,
		Does: "every server sells its own share from memory; a user's hash leads to one server",
		Flaw: "a server that is added has nothing to sell, one that dies keeps its share; and users change servers",
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			o, err := open(h, "orders-"+strconv.Itoa(h.Server), part(h.Stock, h.Server, h.Servers))
			return share{o}, err
		},
		Orders: func(_ context.Context, p shop.Place) (all []shop.Order, err error) {
			files, err := filepath.Glob(filepath.Join(p.Dir, "orders-*"))
			if err != nil {
				return nil, fmt.Errorf("find orders: %w", err)
			}
			for _, file := range files {
				some, err := store{p.Dir, filepath.Base(file)}.orders()
				if err != nil {
					return nil, err
				}
				all = append(all, some...)
			}
			return all, nil
		},
	}
}

type share struct{ *owner }

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

func (s share) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	if err := s.host.CheckUser(ctx, user); err != nil {
		return "", err
	}
	return s.sell(ctx, user)
}

// store is the shop's durable store: a file with the stock and files with the
// orders, in a folder that all application servers share. Reads and writes are
// whole, and survive the process; nothing else is promised. A database used by
// single statements is no better.
type store struct{ dir, file string }

func (s store) stockFile() string { return filepath.Join(s.dir, "stock") }

func (s store) ordersFile() string { return filepath.Join(s.dir, s.file) }

func (s store) stock() (int, error) {
	text, err := os.ReadFile(s.stockFile())
	if err != nil {
		return 0, fmt.Errorf("read stock: %w", err)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, fmt.Errorf("read stock: %w", err)
	}
	return n, nil
}

// setStock replaces the file as a whole, so that no reader finds half of it.
func (s store) setStock(n int) error {
	f, err := os.CreateTemp(s.dir, "stock-")
	if err != nil {
		return fmt.Errorf("write stock: %w", err)
	}
	_, err = f.WriteString(strconv.Itoa(n))
	if err := errors.Join(err, f.Close(), os.Rename(f.Name(), s.stockFile())); err != nil {
		return fmt.Errorf("write stock: %w", err)
	}
	return nil
}

// record appends an order; a short append is atomic.
func (s store) record(user string) error {
	f, err := os.OpenFile(s.ordersFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("record order: %w", err)
	}
	_, err = f.WriteString(user + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record order: %w", err)
	}
	return nil
}

func (s store) orders() ([]shop.Order, error) {
	text, err := os.ReadFile(s.ordersFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	var all []shop.Order
	for user := range strings.Lines(string(text)) {
		all = append(all, shop.Order{User: strings.TrimSuffix(user, "\n")})
	}
	return all, nil
}
