package inprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"flashsale/infra/lab/shop"
)

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
