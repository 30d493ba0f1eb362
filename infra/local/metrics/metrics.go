// Package metrics is the part of CloudWatch that counts purchases, on one machine: it extracts the metrics
// of a log's lines, as CloudWatch does by the embedded metric format, and answers GetMetricData with sums
// by minute. Lines that count no purchases cost it nothing.
package metrics

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
)

// Operation is the path of GetMetricData.
const Operation = "/service/GraniteServiceVersion20100801/operation/GetMetricData"

// kept is how long a minute is.
const kept = 2 * time.Hour

// Metrics is safe for concurrent use. Its zero value is ready.
type Metrics struct {
	mu   sync.Mutex
	sums map[string]map[time.Time]float64 // by series and minute
}

// counting is in each line that counts a purchase.
var counting = []byte(`"purchases":`)

// Write takes one whole line of a log, with any text before its JSON.
func (m *Metrics) Write(line []byte) (int, error) {
	if at := bytes.IndexByte(line, '{'); at >= 0 && bytes.Contains(line, counting) {
		m.extract(line[at:])
	}
	return len(line), nil
}

func (m *Metrics) extract(text []byte) {
	var line map[string]json.RawMessage
	var embedded struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name string }
		}
	}
	if json.Unmarshal(text, &line) != nil || json.Unmarshal(line["_aws"], &embedded) != nil {
		return // not a line of the functions' log
	}
	minute := time.UnixMilli(embedded.Timestamp).UTC().Truncate(time.Minute)
	for _, directive := range embedded.CloudWatchMetrics {
		for _, names := range directive.Dimensions {
			dimensions := map[string]string{}
			for _, name := range names {
				dimensions[name] = strings.Trim(string(line[name]), `"`) // none needs an escape
			}
			for _, metric := range directive.Metrics {
				if n, err := strconv.ParseFloat(string(line[metric.Name]), 64); err == nil {
					m.add(series(directive.Namespace, metric.Name, dimensions), minute, n)
				}
			}
		}
	}
}

func (m *Metrics) add(to string, minute time.Time, n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sums == nil {
		m.sums = map[string]map[time.Time]float64{}
	}
	if m.sums[to] == nil {
		m.sums[to] = map[time.Time]float64{}
	}
	if _, begun := m.sums[to][minute]; !begun {
		maps.DeleteFunc(m.sums[to], func(old time.Time, _ float64) bool { return minute.Sub(old) > kept })
	}
	m.sums[to][minute] += n
}

// series is the key of a metric with these dimensions.
func series(namespace, name string, dimensions map[string]string) string {
	parts := []string{namespace, name}
	for _, of := range slices.Sorted(maps.Keys(dimensions)) {
		parts = append(parts, of+"="+dimensions[of])
	}
	return strings.Join(parts, "\x00")
}

// ServeHTTP answers GetMetricData with the sums by minute, the newest first, whatever statistic and period
// it asks for. Signatures are not checked.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	asked, ok := cbor.Map{}, false
	if value, decodeErr := cbor.Decode(body); err == nil && decodeErr == nil {
		asked, ok = value.(cbor.Map)
	}
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	from, to := instant(asked["StartTime"]), instant(asked["EndTime"])
	results := cbor.List{}
	queries, _ := asked["MetricDataQueries"].(cbor.List)
	for _, one := range queries {
		query, _ := one.(cbor.Map)
		times, values := cbor.List{}, cbor.List{}
		for _, p := range m.between(seriesOf(query), from, to) {
			times, values = append(times, &cbor.Tag{ID: 1, Value: cbor.Float64(p.minute.Unix())}), append(values, cbor.Float64(p.sum))
		}
		results = append(results, cbor.Map{"Id": query["Id"], "StatusCode": cbor.String("Complete"), "Timestamps": times, "Values": values})
	}
	_, _ = w.Write(cbor.Encode(cbor.Map{"MetricDataResults": results}))
}

type point struct {
	minute time.Time
	sum    float64
}

func (m *Metrics) between(of string, from, to time.Time) (all []point) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for minute, sum := range m.sums[of] {
		if !minute.Before(from) && minute.Before(to) {
			all = append(all, point{minute, sum})
		}
	}
	slices.SortFunc(all, func(a, b point) int { return b.minute.Compare(a.minute) })
	return all
}

func seriesOf(query cbor.Map) string {
	stat, _ := query["MetricStat"].(cbor.Map)
	metric, _ := stat["Metric"].(cbor.Map)
	list, _ := metric["Dimensions"].(cbor.List)
	dimensions := map[string]string{}
	for _, one := range list {
		dimension, _ := one.(cbor.Map)
		dimensions[text(dimension["Name"])] = text(dimension["Value"])
	}
	return series(text(metric["Namespace"]), text(metric["MetricName"]), dimensions)
}

func text(v cbor.Value) string {
	s, _ := v.(cbor.String)
	return string(s)
}

// instant reads a timestamp of seconds since the epoch.
func instant(v cbor.Value) time.Time {
	tag, ok := v.(*cbor.Tag)
	if !ok {
		return time.Time{}
	}
	switch seconds := tag.Value.(type) {
	case cbor.Float64:
		return time.UnixMilli(int64(float64(seconds) * 1000))
	case cbor.Uint:
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}
