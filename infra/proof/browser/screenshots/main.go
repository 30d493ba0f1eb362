// Command screenshots takes the pictures of the documents: what a buyer and operators see of a sale, the
// live view during a rush, and the table of verdicts on the strategy lab's page. It runs in the
// project's folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/proof/browser"
)

// rush sends the crowd and waits until the shards are half empty.
const rush = `(() => {
	const at = (id) => document.getElementById(id).textContent
	if (!window.sent && at('verdict').startsWith('ok')) { window.sent = true; document.getElementById('rush').click() }
	return Number(at('left')) < 60 && Number(at('left')) > 0
})()`

// A buyer signs in and orders, and then has a quarter of an hour to pay.
const (
	arrive = `document.getElementById("act")?.textContent === "Sign in" && (document.getElementById("act").click(), true)`
	buyer  = `document.getElementById("sub") && (document.getElementById("sub").value = "dora", document.querySelector("form").requestSubmit(), true)`
	order  = `document.getElementById("act")?.textContent.startsWith("Order") && (document.getElementById("act").click(), true)`
	won    = `document.getElementById("main")?.dataset.state === "unpaid"`
)

// Signing in to the operators' page, in its sign-in page, and the sale.
const (
	signIn   = `document.querySelector("button.main")?.textContent.includes("Sign in") && (document.querySelector("button.main").click(), true)`
	operator = `document.querySelector("select") && (document.querySelector("input:not([type=hidden])").value = "kim",
		document.querySelector("select").value = "operator", document.querySelector("form").requestSubmit(), true)`
	counted  = `!!document.querySelector(".trail li") && !!document.querySelector("[data-key=sale] .pace")`
	measured = `!!document.querySelector("[data-line=accepted]")`
	all      = `document.querySelectorAll(".card .left progress").length > 1 && !document.body.innerText.includes("not counted")`
)

const (
	lab = ".build/lab-picture.html" // the strategy lab's page
	out = "infra/docs/pictures"
)

func main() {
	if err := take(); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func take() (err error) {
	b, err := browser.Start(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Stop()) }()
	page, err := filepath.Abs(lab)
	if err != nil {
		return fmt.Errorf("find the lab's page: %w", err)
	}
	if err := b.Picture(filepath.Join(out, "lab.png"), "file://"+page, 1000, 850); err != nil {
		return err
	}
	stack, err := browser.Launch(".", "-demo-sale")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(20*time.Second)) }()
	if err := b.Picture(filepath.Join(out, "live.png"), stack.API+"/", 1200, 1100, rush); err != nil {
		return err
	}
	c := client.New(stack.API, client.Options{Lambda: stack.Lambda})
	defer c.Close()
	err = c.Ask(context.Background(), client.SeedFunction, map[string]any{
		"action": "create", "saleId": "moutai", "name": "Feitian Moutai, 500 ml", "stock": 480, "shards": 5,
		"about":   "One bottle for each buyer. 53 % vol., bottled in 2026, delivered within a week.",
		"opensAt": time.Now().Add(-time.Minute), "closesAt": time.Now().Add(24 * time.Hour), "payWithin": 900, "price": 149900, "currency": "CNY",
	}, nil)
	if err != nil {
		return err
	}
	go crowd(c)
	err = c.Ask(context.Background(), client.SeedFunction, map[string]any{
		"action": "add", "saleId": "moutai", "stock": 20, "seedId": "second-delivery", "actor": "kim", "note": "the second delivery has come",
	}, nil)
	if err != nil {
		return err
	}
	err = b.Picture(filepath.Join(out, "buyer.png"), stack.API+"/s/moutai", 420, 700, arrive, buyer, order, won)
	if err != nil {
		return err
	}
	if err := b.Picture(filepath.Join(out, "operator.png"), stack.Operate+"/#sale/moutai", 900, 1850, signIn, operator, counted, measured); err != nil {
		return err
	}
	return b.Picture(filepath.Join(out, "sales.png"), stack.Operate+"/", 900, 900, signIn, operator, all)
}

// crowd has 400 buyers order: most at the opening, and the others ever more slowly.
func crowd(c *client.Client) {
	for i := range 400 {
		user := fmt.Sprint("buyer-", i)
		if token, err := c.Token(context.Background(), user); err == nil {
			_, _ = c.Buy(context.Background(), "moutai", token, "")
		}
		time.Sleep(time.Duration(i*i/200) * time.Millisecond)
	}
}
