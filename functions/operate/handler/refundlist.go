package handler

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"flashsale/functions/operate/refundlist"
	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	// maxUnpacked is the longest list, in bytes.
	maxUnpacked = 32 << 20
	// maxRows is the size, in bytes of JSON, beyond which the next answer has the other rows: Lambda returns 6 MiB, and
	// each quote is written with a backslash.
	maxRows = 2 << 20
	// readAtOnce is how many sales' refunds are read at once.
	readAtOnce = 16
)

// readList says of each payment that a list names what marking it would mean. It marks nothing.
func (h *Handler) readList(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	var r wire.ReadList
	if err := req.fields(wire.MaxList, &r, "list", "saleId", "group", "after"); err != nil {
		return nil, err
	}
	if r.SaleID != "" && r.Group != "" {
		return nil, sale.Refuse(sale.InvalidRequest, "give saleId or group, not both")
	}
	file, err := unpacked(r.List)
	if err != nil {
		const detail = "list must be a file in base64, and may be packed by gzip"
		return nil, &sale.Error{Code: sale.InvalidRequest, Detail: detail, Err: err}
	}
	list := refundlist.List{Problem: "too-long"}
	if len(file) <= maxUnpacked {
		list = refundlist.Read(file)
	}
	page := wire.List{
		AsOf: httpapi.Time(h.now()), Rows: []json.RawMessage{}, Others: list.Others, Problem: list.Problem,
		Missing: list.Missing,
	}
	var found []sale.Refund
	if found, page.Unreadable, err = h.allRefunds(ctx, r.SaleID, r.Group, event); err != nil {
		return nil, err
	}
	list.Match(found)
	size := 0
	for _, a := range list.Rows {
		if a.Line <= r.After {
			continue
		}
		one := wire.Row{Line: a.Line, Payment: a.Payment, Outcome: a.Outcome, First: a.First, Back: a.Back}
		if a.Refund != nil {
			shown := wire.RefundOf(*a.Refund)
			one.Refund = &shown
		}
		row, _ := json.Marshal(one) // which never fails
		if page.Rows, size = append(page.Rows, row), size+len(row); size > maxRows {
			page.Next = a.Line
			break
		}
	}
	event.Int("rows", len(page.Rows))
	return page, nil
}

// unpacked is a file, or as much of it as is read, from its base64.
func unpacked(list string) ([]byte, error) {
	file, err := base64.StdEncoding.DecodeString(list)
	if err != nil || !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
		return file, err
	}
	packed, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(packed, maxUnpacked+1))
}

// allRefunds are the refunds of a sale, of a group's sales, or of all with those of unknown orders.
func (h *Handler) allRefunds(
	ctx context.Context, saleID, group string, event *telemetry.Event,
) (all []sale.Refund, unreadable int, err error) {
	ids, err := h.refundable(ctx, saleID, group, event)
	if err != nil {
		return nil, 0, err
	}
	var mu sync.Mutex
	var failure error
	for some := range slices.Chunk(ids, readAtOnce) {
		var work invocation.Group
		for _, id := range some {
			work.Go(func() {
				for after, more := "", true; more; {
					found, next, skipped, err := h.ledger.RefundPage(ctx, id, after, 0)
					mu.Lock()
					all, unreadable, failure = append(all, found...), unreadable+skipped, cmp.Or(failure, err)
					mu.Unlock()
					after, more = next, next != ""
				}
			})
		}
		if work.Wait(); failure != nil {
			return nil, 0, failure
		}
	}
	return all, unreadable, nil
}

// refundable are the sales whose refunds are looked through; "" stands for the payments of unknown orders.
func (h *Handler) refundable(
	ctx context.Context, saleID, group string, event *telemetry.Event,
) (ids []string, err error) {
	var all []ledger.Standing
	switch {
	case saleID != "":
		return []string{saleID}, h.checkSale(ctx, saleID, event)
	case group == "":
		ids = []string{""}
		all, err = h.ledger.Standings(ctx, true)
	case !sale.ValidID(group):
		return nil, sale.RefuseID("group")
	default:
		event.Text("groupId", group)
		all, err = h.ledger.GroupStandings(ctx, group)
	}
	for _, one := range all {
		ids = append(ids, one.SaleID)
	}
	return ids, err
}
