package live

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// patience is how long a viewer may not read.
const patience = 5 * time.Second

// viewer is one open feed.
type viewer struct {
	sale   string      // "" for the first open one
	frames chan []byte // holds the latest snapshot that was not sent
}

func (v *View) watched() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.viewers) > 0
}

func (v *View) join(sale string) *viewer {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := &viewer{sale: sale, frames: make(chan []byte, 1)}
	v.viewers[one] = true
	select {
	case v.joined <- struct{}{}:
	default:
	}
	return one
}

func (v *View) leave(one *viewer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.viewers, one)
	if len(v.viewers) == 0 {
		clear(v.sales)
	}
}

// publish takes a snapshot of each sale that somebody looks at. It never waits for a viewer:
// who has not read the last snapshot gets the new one in its place.
func (v *View) publish(ctx context.Context) {
	v.mu.Lock()
	bySale := map[string][]*viewer{}
	for one := range v.viewers {
		bySale[one.sale] = append(bySale[one.sale], one)
	}
	v.mu.Unlock()
	for sale, viewers := range bySale {
		s := v.read(ctx, sale)
		v.complete(&s)
		frame, err := json.Marshal(s)
		if err != nil {
			continue // unreachable: every type in it can be encoded
		}
		for _, one := range viewers {
			select {
			case <-one.frames:
			default:
			}
			one.frames <- frame // only this goroutine sends
		}
	}
}

// complete adds what the view itself knows.
func (v *View) complete(s *snapshot) {
	_, met := v.o.System.Faults()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.accident != nil {
		s.Broken = &broken{*v.accident, v.brokenAt, met}
	}
	if v.crowd != nil {
		s.Crowd = v.crowd.view()
	}
	if s.Sale != nil {
		s.Receipt = v.recounted(s.Sale)
	}
}

// feed sends snapshots as server-sent events until the viewer leaves, stops reading, or the
// stack stops.
func (v *View) feed(w http.ResponseWriter, r *http.Request) {
	one := v.join(r.URL.Query().Get("sale"))
	defer v.leave(one)
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	send := func(text []byte) bool {
		_ = connection.SetWriteDeadline(time.Now().Add(patience))
		_, err := w.Write(text)
		return err == nil && connection.Flush() == nil
	}
	open := send([]byte("retry: 2000\n\n"))
	for open {
		select {
		case <-r.Context().Done():
			return
		case <-v.ctx.Done():
			return
		case frame := <-one.frames:
			open = send(append(append([]byte("data: "), frame...), '\n', '\n'))
		}
	}
}
