package operator

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

func archive(ctx context.Context, p *target, o options, out *terminal) error {
	return withFile(ctx, p, o, func(book *ledger.Ledger) error {
		if o.has("dry-run") {
			if _, err := os.Lstat(o["file"]); err == nil {
				return cli.Bad(fmt.Errorf("nothing would be archived: %s exists", o["file"]))
			}
			if _, err := os.Stat(filepath.Dir(o["file"])); err != nil {
				return cli.Bad(fmt.Errorf("nothing would be archived: %w", err))
			}
			a, err := maintenance.Of(book).WriteArchive(ctx, o["sale"], io.Discard)
			if err == nil {
				fmt.Fprintf(out, "%s would get %d lines of sale %s, %d claims with their orders; digest %s; nothing was written\n", o["file"], a.Lines, o["sale"], a.Claims, a.Digest)
			}
			return err
		}
		return writeArchive(ctx, p, book, o["sale"], o["file"], out)
	})
}

func prune(ctx context.Context, p *target, o options, out *terminal) error {
	return withFile(ctx, p, o, func(book *ledger.Ledger) error { return pruneBy(ctx, book, o, out) })
}

func withFile(ctx context.Context, p *target, o options, act func(*ledger.Ledger) error) error {
	if o["file"] == "" {
		return cli.Usagef("name the file of the archive, such as --file moutai.jsonl")
	}
	if err := cli.IsFile("file", o["file"], "an archive is read twice"); err != nil {
		return err
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	return notDone("ARCHIVED", act(book))
}

// writeArchive writes a new file and reads back what the disk has of it; prune reads what it means. A file that could not be written whole is removed.
func writeArchive(ctx context.Context, p *target, book *ledger.Ledger, saleID, name string, out *terminal) (err error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // it has the users
	if err != nil {
		return cli.Bad(fmt.Errorf("nothing was archived: %w", err))
	}
	defer func() {
		if err = cmp.Or(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	buffered, written, read := bufio.NewWriterSize(file, 1<<20), sha256.New(), sha256.New()
	a, err := maintenance.Of(book).WriteArchive(ctx, saleID, io.MultiWriter(buffered, written))
	if err = cmp.Or(err, buffered.Flush(), file.Sync()); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(read, file); err != nil {
		return err
	}
	if !bytes.Equal(read.Sum(nil), written.Sum(nil)) {
		return errors.New("the file does not read as it was written")
	}
	fmt.Fprintf(out, "%s has %d lines of sale %s, %d claims with their orders; digest %s\n", name, a.Lines, saleID, a.Claims, a.Digest)
	out.notef("nothing was deleted: copy it to where it stays, get the copy back, and %s with that copy deletes what it has", p.flashsale("books prune "+saleID, "--file", name))
	return nil
}

// pruneBy reads the file whole, and asks before it deletes what the file has.
func pruneBy(ctx context.Context, book *ledger.Ledger, o options, out *terminal) error {
	saleID := o["sale"]
	open := func() (io.ReadCloser, error) { return cli.Open(out.command, o["file"]) }
	file, err := open()
	if err != nil {
		return err
	}
	a, err := maintenance.CheckArchive(file, saleID)
	file.Close()
	if err != nil {
		return err
	}
	if o.has("dry-run") {
		if err := matches(ctx, book, a); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d claims with their orders would be deleted permanently; the file is as the table; digest %s; nothing was changed\n", saleID, a.Claims, a.Digest)
		return nil
	}
	if err := out.ask(fmt.Sprintf("Delete from the table what %s has of %s: %d claims with their orders?", o["file"], saleID, a.Claims)); err != nil {
		return err
	}
	if a, err = maintenance.Of(book).DeleteArchived(ctx, saleID, open); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is archived: %d claims with their orders were deleted; digest %s\n", saleID, a.Claims, a.Digest)
	return nil
}

// matches compares an archive with the table, or with what was noted of it when its sale began to be deleted.
func matches(ctx context.Context, book *ledger.Ledger, a maintenance.Archived) error {
	s, err := book.Existing(ctx, a.SaleID)
	if err != nil {
		return err
	}
	digest := s.Archive
	if digest == "" {
		now, err := maintenance.Of(book).WriteArchive(ctx, a.SaleID, io.Discard)
		if err != nil {
			return err
		}
		digest = now.Digest
	}
	if digest != a.Digest {
		return sale.Refusef(sale.Conflicting, "the archive's digest is %s, and the table's %s: write it again", a.Digest, digest)
	}
	return nil
}
