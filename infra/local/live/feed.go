package live

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"flashsale/infra/local/eventsource"
)

const (
	interval = time.Second
	// patience is how long a viewer may not read.
	patience = 5 * time.Second
)

func (v *View) watched() bool { return v.viewers.Load() > 0 }

// leave forgets what is remembered of sales when nobody looks any more.
func (v *View) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.viewers.Add(-1) == 0 {
		clear(v.sales)
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
	v.viewers.Add(1)
	defer v.leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(v.ctx, cancel)()
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	send := func(text string) bool {
		_ = connection.SetWriteDeadline(time.Now().Add(patience))
		_, err := w.Write([]byte(text))
		return err == nil && connection.Flush() == nil
	}
	for open := send("retry: 2000\n\n"); open && ctx.Err() == nil; eventsource.Sleep(ctx, interval) {
		s := v.read(ctx, r.URL.Query().Get("sale"))
		v.complete(&s)
		frame, _ := json.Marshal(s) // every type in it can be encoded
		open = send("data: " + string(frame) + "\n\n")
	}
}
