// Command screenshots takes the README's pictures: the live view during a rush, and the
// table of verdicts on the strategy lab's page. It runs in the project's folder.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/local/launch"
	"flashsale/infra/proof/browser"
)

// rush sends the crowd and waits until the shards are half empty.
const rush = `new Promise((seen) => {
	const at = (id) => document.getElementById(id).textContent
	let sent = false
	setInterval(() => {
		if (!sent && at('verdict').startsWith('ok')) { sent = true; document.getElementById('rush').click() }
		if (Number(at('left')) < 60 && Number(at('left')) > 0) seen()
	}, 20)
})`

func main() {
	f := flag.NewFlagSet("screenshots", flag.ContinueOnError)
	lab := f.String("lab", ".build/lab-picture.html", "the strategy lab's `page`")
	out := f.String("out", "infra/docs/pictures", "`folder` for the pictures")
	if err := arguments.Parse(f, os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(2)
	}
	if err := take(*lab, *out); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func take(lab, out string) (err error) {
	b, err := browser.Start(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Stop()) }()
	page, err := filepath.Abs(lab)
	if err != nil {
		return fmt.Errorf("find the lab's page: %w", err)
	}
	if _, err := os.Stat(page); err != nil {
		return fmt.Errorf("find the lab's page: %w", err)
	}
	if err := b.Picture(filepath.Join(out, "lab.png"), "file://"+page, 1000, 850, "Promise.resolve(1)"); err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "flashsale-screenshots-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(data)
	stack, err := launch.New(launch.Built("."), data, "-demo-sale")
	if err != nil {
		return err
	}
	if err := stack.StartWithin(time.Minute); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(20*time.Second)) }()
	return b.Picture(filepath.Join(out, "live.png"), stack.API+"/", 1200, 1100, rush)
}
