package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
)

// archive writes a sale to a file, or with -go deletes from the table what such a file has.
func archive(ctx context.Context, p *place, o options, out io.Writer) error {
	if o["file"] == "" {
		return fmt.Errorf("name the file: make archive SALE=%s FILE=%s.jsonl", o["sale"], o["sale"])
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	act := writeArchive
	if o.has("go") {
		act = deleteArchived
	}
	return notDone("ARCHIVED", act(ctx, book, o["sale"], o["file"], out), out)
}

// writeArchive writes a new file and reads it back. A file that could not be written whole is removed.
func writeArchive(ctx context.Context, book *ledger.Ledger, saleID, name string, out io.Writer) (err error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // it has the users
	if err != nil {
		return fmt.Errorf("nothing was archived: %w", err)
	}
	defer func() {
		if err = cmp.Or(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	buffered := bufio.NewWriterSize(file, 1<<20)
	written, err := maintenance.Of(book).WriteArchive(ctx, saleID, buffered)
	if err = cmp.Or(err, buffered.Flush(), file.Sync()); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	read, err := maintenance.CheckArchive(file, saleID)
	if err == nil && read != written {
		err = fmt.Errorf("the file reads as %+v, and was written as %+v", read, written)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s has %d lines of sale %s, %d claims with their orders; digest %s\nnothing was deleted: copy it to where it stays, get the copy back, and GO=1 with that copy as FILE deletes what it has\n",
		name, read.Lines, saleID, read.Claims, read.Digest)
	return nil
}

func deleteArchived(ctx context.Context, book *ledger.Ledger, saleID, name string, out io.Writer) error {
	a, err := maintenance.Of(book).DeleteArchived(ctx, saleID, func() (io.ReadCloser, error) { return os.Open(name) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is archived: %d claims with their orders were deleted; digest %s\n", saleID, a.Claims, a.Digest)
	return nil
}
