package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/draw"
	"flashsale/shared/recent"
	"flashsale/shared/sale"
)

// Draw is what everybody may know of a draw, but for its roll.
type Draw struct {
	DrawHead
	Calls []Call // in their order
}

// DrawHead is a draw from the closing of its roll on; zero before.
type DrawHead struct {
	Roll     draw.Digest
	Entrants int64
	// Round is the one round of the beacon that decides. It was chosen when the roll was
	// closed, and it lay in the future.
	Round    uint64
	ClosedAt time.Time
	// Seed and Signature, which is the round's, are zero until the round is known.
	Seed      draw.Digest
	Signature []byte
}

// IsClosed reports whether the roll is closed.
func (h *DrawHead) IsClosed() bool { return h.Round != 0 }

// HasSeed reports whether the order of the roll is known.
func (h *DrawHead) HasSeed() bool { return len(h.Signature) > 0 }

// Call is one call of a draw.
type Call struct {
	Number      int64 // from 1; 0 is no call
	From, Until time.Time
	// Open: the call is for anybody, because everybody on the roll has been called.
	Open bool
	// Those with a rank above Lo and not above Hi are called. Complete: every shard has had the
	// window of the call and Hi is final. Nobody may buy before that, unless the call is Open.
	Lo, Hi   draw.Rank
	Complete bool
	// Stock is how many units were left when Hi was chosen, At when the call was begun.
	Stock int64
	At    time.Time
}

// CallsNobody reports whether the call has come to nothing: no unit was left, or its Hi is not
// known.
func (c *Call) CallsNobody() bool { return !c.Open && (!c.Complete || c.Hi == c.Lo) }

// IsByRank reports whether people are called by their ranks if the call is completed now: not
// into one that is for anybody, not into one that has lasted for longer than the gap, and not into
// one that is over.
func (c *Call) IsByRank(now time.Time, gap time.Duration) bool {
	return !c.Open && !now.After(c.From.Add(gap)) && now.Before(c.Until)
}

// DrawState is a draw as the draw function sees it.
type DrawState struct {
	Sale sale.Sale
	Head DrawHead
	Last Call // the newest call; zero before the first
	// HasStock: when a call is due, some shard had a unit. It is not looked at otherwise.
	HasStock bool
}

// NextCallAt returns the earliest instant of the next call. A call that has come to nothing is
// not waited for: nobody counts on it.
func (s DrawState) NextCallAt(gap time.Duration) time.Time {
	switch {
	case s.Last.Number == 0:
		return s.Sale.BeginsAt
	case s.Last.CallsNobody():
		return s.Last.From.Add(gap)
	}
	return s.Sale.ClosesAt.Add(gap)
}

const (
	// drawAge is how long an environment remembers what may still change of a draw.
	drawAge = 2 * time.Second
	// maxPages bounds the pages of rolls that an environment remembers, and maxParts the parts of
	// pages: those of a whole roll, which is 32 MB with a million entrants.
	maxPages = draw.Pages
	maxParts = maxPages * pageParts
)

// draws is what an environment remembers of draws. Only public expires: the rest is final.
type draws struct {
	public  *recent.Memory[string, Draw]
	secrets *recent.Memory[string, []byte]
	heads   *recent.Memory[string, DrawHead] // with a seed
	calls   *recent.Memory[callID, Call]     // complete ones; others for a moment
	pages   *recent.Memory[pageID, []draw.Leaf]
	parts   *recent.Memory[partID, []draw.Leaf]
}

type callID struct {
	saleID string
	number int64
}

type pageID struct {
	saleID string
	page   byte
}

type partID struct {
	saleID string
	page   byte
	part   int
}

func newDraws() *draws {
	return &draws{
		public:  recent.NewMemory[string, Draw](maxViews),
		secrets: recent.NewMemory[string, []byte](maxViews),
		heads:   recent.NewMemory[string, DrawHead](maxViews),
		calls:   recent.NewMemory[callID, Call](maxViews),
		pages:   recent.NewMemory[pageID, []draw.Leaf](maxPages),
		parts:   recent.NewMemory[partID, []draw.Leaf](maxParts),
	}
}

// forever is until when what is final may be remembered.
var forever = time.Unix(1<<40, 0)

// Draw returns what is public of the draw of a sale that Sale returned, at most two seconds
// old. It fails with sale.DrawNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Draw(ctx context.Context, s sale.Sale) (Draw, error) {
	if !s.HasDraw() {
		return Draw{}, sale.RefuseNoDraw()
	}
	now := l.now()
	if d, ok := l.draws.public.Get(s.ID, now); ok {
		return d, nil
	}
	d, err := l.readDraw(ctx, maxTries, s)
	if err == nil {
		l.draws.public.Put(strings.Clone(s.ID), d, now, now.Add(drawAge))
	}
	return d, err
}

// readDraw reads what is public of a draw from the table.
func (l *Ledger) readDraw(ctx context.Context, tries int, s sale.Sale) (Draw, error) {
	items, err := l.queryAll(ctx, tries, dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": str(drawPK(s.ID))},
	})
	if err != nil {
		return Draw{}, err
	}
	var d Draw
	for _, it := range items {
		if strings.HasPrefix(identityOf(it).sk, callHead) {
			c, err := readCall(it)
			if err != nil {
				return Draw{}, asInternal(err)
			}
			d.Calls = append(d.Calls, c)
		} else if d.DrawHead, err = readDrawHead(it); err != nil {
			return Draw{}, asInternal(err)
		}
	}
	return d, nil
}

// drawHead returns the head of a draw, zero if the roll is not closed. One with a seed is
// remembered for good.
func (l *Ledger) drawHead(ctx context.Context, tries int, saleID string) (DrawHead, error) {
	if h, ok := l.draws.heads.Get(saleID, l.now()); ok {
		return h, nil
	}
	it, err := l.getWithin(ctx, tries, drawHeadKey(saleID))
	if err != nil || it == nil {
		return DrawHead{}, err
	}
	h, err := readDrawHead(it)
	if err == nil && h.HasSeed() {
		l.draws.heads.Put(strings.Clone(saleID), h, time.Time{}, forever)
	}
	return h, asInternal(err)
}

// DrawState reads a draw for the draw function, consistently; gap is the time between two
// calls. It fails with sale.DrawNotFound, sale.SaleNotFound, sale.Busy, sale.NewerVersion or
// sale.Internal.
func (l *Ledger) DrawState(ctx context.Context, saleID string, gap time.Duration) (DrawState, error) {
	var d DrawState
	var err error
	if d.Sale, err = l.readOpenSale(ctx, saleID); err != nil {
		return d, err
	}
	if !d.Sale.HasDraw() {
		return d, sale.RefuseNoDraw()
	}
	if d.Head, err = l.drawHead(ctx, patientTries, saleID); err != nil {
		return d, err
	}
	if d.Last, err = l.readCallOf(ctx, patientTries, d.Sale); err != nil {
		return d, err
	}
	if !d.Head.HasSeed() || l.now().Before(d.NextCallAt(gap)) {
		return d, nil
	}
	// The set of empty shards does not say it: a shard joins it only when somebody finds it
	// empty, and in a draw nobody comes after the last unit.
	shards, err := l.shardsOf(ctx, d.Sale)
	d.HasStock = slices.ContainsFunc(shards, func(s shard) bool { return s.stock > 0 })
	return d, err
}

// readCallOf reads the newest call of a sale from the table.
func (l *Ledger) readCallOf(ctx context.Context, tries int, s sale.Sale) (Call, error) {
	if s.Call == 0 {
		return Call{}, nil
	}
	it, err := l.getWithin(ctx, tries, callKey(s.ID, s.Call))
	if err != nil {
		return Call{}, err
	}
	if it == nil { // plain reads see a transaction item by item
		return Call{}, sale.Fail(sale.Busy, fmt.Errorf("call %d cannot be seen yet", s.Call))
	}
	c, err := readCall(it)
	return c, asInternal(err)
}

// SetSeed stores the seed of a draw and the signature that it follows from, unless they are
// stored. The caller has verified the signature as that of the draw's round. It fails with
// sale.Busy, or with sale.Internal if another seed is stored or the roll is not closed.
func (l *Ledger) SetSeed(ctx context.Context, s sale.Sale, seed draw.Digest, signature []byte) error {
	err := l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: l.table, Key: drawHeadKey(s.ID), UpdateExpression: &setSeed, ConditionExpression: &ifNoSeed,
			ExpressionAttributeNames:  map[string]string{"#round": "round", "#seed": "seed", "#signature": "signature"},
			ExpressionAttributeValues: item{":seed": str(seed.String()), ":signature": str(hex.EncodeToString(signature))},
		})
		return err
	})
	if judge(err) != conditioned {
		return asInternal(err)
	}
	switch h, err := l.drawHead(ctx, patientTries, s.ID); {
	case err != nil:
		return err
	case !h.IsClosed():
		return asInternal(errors.New("the roll is not closed"))
	case h.Seed != seed:
		return asInternal(fmt.Errorf("the draw has the seed %s", h.Seed))
	}
	return nil
}

var (
	setSeed  = "SET #seed = :seed, #signature = :signature"
	ifNoSeed = "attribute_exists(#round) AND attribute_not_exists(#seed)"
)

func (r *reader) drawTerms() (t sale.DrawTerms) {
	if has(r.item, "enterFrom") {
		t.EnterFrom, t.EnterUntil = r.time("enterFrom"), r.time("enterUntil")
		t.KeepFor = time.Duration(r.number("keepHours")) * time.Hour
	}
	return t
}

// utc returns the terms with their instants as the table stores them.
func utc(t sale.DrawTerms) sale.DrawTerms {
	if t.HasDraw() {
		t.EnterFrom, t.EnterUntil = time.UnixMilli(t.EnterFrom.UnixMilli()).UTC(), time.UnixMilli(t.EnterUntil.UnixMilli()).UTC()
	}
	return t
}

// draw reads the draw of a sale that has one.
func (r *reader) draw() sale.Draw {
	d := sale.Draw{DrawTerms: r.drawTerms(), BeginsAt: r.time("beginsAt"), EndsAt: r.time("endsAt"), Call: r.optionalNumber("call")}
	if has(r.item, "operatedAt") {
		d.OperatedAt = r.time("operatedAt")
	}
	if has(r.item, "openCall") {
		d.OpenCall = r.flag("openCall")
	}
	if !d.HasDraw() {
		r.fail("keepHours", "a number of hours")
	}
	return d
}

func (r *reader) hex(name string) []byte {
	b, err := hex.DecodeString(r.text(name))
	if err != nil {
		r.fail(name, "hexadecimal")
	}
	return b
}

func (r *reader) digest(name string) draw.Digest {
	d, err := draw.ParseDigest(r.text(name))
	if err != nil {
		r.fail(name, "a digest")
	}
	return d
}

func (r *reader) rank(name string) draw.Rank {
	rank, err := draw.ParseRank(r.text(name))
	if err != nil {
		r.fail(name, "a rank")
	}
	return rank
}

// newLeafKey returns the item of a new key of receipts.
func (l *Ledger) newLeafKey(saleID string) (item, error) {
	secret := make([]byte, 32)
	if _, err := l.secret(secret); err != nil {
		return nil, asInternal(fmt.Errorf("make leaf key: %w", err))
	}
	return with(leafKeyKey(saleID), item{"leafKey": binary(secret)}), nil
}

// leafKey returns the key that the receipts of a draw are made with.
func (l *Ledger) leafKey(ctx context.Context, tries int, saleID string) ([]byte, error) {
	if secret, ok := l.draws.secrets.Get(saleID, l.now()); ok {
		return secret, nil
	}
	it, err := l.getWithin(ctx, tries, leafKeyKey(saleID))
	if err != nil {
		return nil, err
	}
	r := reading(it)
	secret := r.bytes("leafKey")
	if r.err == nil {
		l.draws.secrets.Put(strings.Clone(saleID), secret, time.Time{}, forever)
	}
	return secret, asInternal(r.err)
}

// readDrawHead reads the head of a draw.
func readDrawHead(it item) (DrawHead, error) {
	r := reading(it)
	h := DrawHead{Roll: r.digest("roll"), Entrants: r.number("entrants"), Round: uint64(r.number("round")), ClosedAt: r.time("closedAt")}
	if has(it, "seed") {
		h.Seed, h.Signature = r.digest("seed"), r.hex("signature")
	}
	if h.Round == 0 {
		r.fail("round", "a round")
	}
	return h, r.err
}

func readCall(it item) (Call, error) {
	r := reading(it)
	number, err := strconv.ParseInt(strings.TrimPrefix(r.text(attrSK), callHead), 10, 64)
	if err != nil {
		r.fail(attrSK, "a call")
	}
	c := Call{
		Number: number, From: r.time("from"), Until: r.time("until"), At: r.time("at"), Lo: r.rank("lo"),
		Open: has(it, "open") && r.flag("open"), Stock: r.optionalNumber("stock"),
	}
	if has(it, "hi") {
		c.Complete, c.Hi = true, r.rank("hi")
	}
	return c, r.err
}
