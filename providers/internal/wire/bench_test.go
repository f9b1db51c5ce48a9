package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// call is one way to ask a model.
type call func(ctx context.Context) error

// said by a vendor, as far as a program for one call reads it.
type plainAnswer struct {
	Choices []struct {
		Message, Delta struct{ Content string }
	}
	Content []struct{ Text string }
	Delta   struct{ Text string }
	Usage   map[string]any
}

// bare sends the same JSON with net/http and reads the answer: what any program
// must do.
func bare(tb testing.TB, v vendor, spec providers.Spec, client *http.Client) call {
	tb.Helper()
	messages := []map[string]string{{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}}
	request := map[string]any{"model": spec.Model, "messages": messages, "stream": true, "stream_options": map[string]any{"include_usage": true}}
	if v.claude {
		request = map[string]any{"model": spec.Model, "system": "be brief", "messages": messages[1:], "max_tokens": 32000, "stream": true}
	}
	return func(ctx context.Context) error {
		body, err := json.Marshal(request)
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, spec.BaseURL+v.request, bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if strings.Contains(resp.Header.Get("Content-Type"), "json") {
			data, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			return json.Unmarshal(data, new(plainAnswer))
		}
		lines, n := bufio.NewScanner(resp.Body), 0
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok || string(data) == "[DONE]" {
				continue
			}
			if err := json.Unmarshal(data, new(plainAnswer)); err != nil {
				return err
			}
			n++
		}
		if n == 0 {
			return errors.New("no events")
		}
		return lines.Err()
	}
}

func ours(tb testing.TB, spec providers.Spec) call {
	tb.Helper()
	m := open(tb, spec)
	return func(ctx context.Context) error {
		_, err := m.Generate(ctx, hi)
		return err
	}
}

// shapes are the two forms of an answer.
func (v vendor) shapes() map[string][2]string {
	return map[string][2]string{
		"whole":  {"application/json", v.body(hello)},
		"stream": {"text/event-stream", "data: " + strings.Join(v.pieces([]string{"hel", "lo"}, providers.StopEnd), "\n\ndata: ") + "\n\n"},
	}
}

// BenchmarkLayer makes calls to a server on the loopback, in turn by net/http alone
// and by ours, and reports what ours adds to one: the difference of the medians.
func BenchmarkLayer(b *testing.B) {
	for _, v := range []vendor{vendors[0], claudes} {
		for shape, answer := range v.shapes() {
			b.Run(v.name+" "+shape, func(b *testing.B) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", answer[0])
					_, _ = io.WriteString(w, answer[1])
				}))
				defer server.Close()
				spec := v.spec(&stub{Server: server})
				ways := [2]call{bare(b, v, spec, &http.Client{Transport: &http.Transport{}}), ours(b, spec)}
				var took [2][]time.Duration
				for range b.N {
					for i, ask := range ways {
						start := time.Now()
						require.NoError(b, ask(b.Context()))
						took[i] = append(took[i], time.Since(start))
					}
				}
				median := func(all []time.Duration) float64 { // a busy machine delays some calls a lot
					slices.Sort(all)
					return float64(all[len(all)/2].Nanoseconds())
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(took[0]), "bare-ns")
				b.ReportMetric(median(took[1])-median(took[0]), "added-ns")
				b.ReportMetric(allocs(b, ways[0]), "bare-allocs")
				b.ReportMetric(allocs(b, ways[1])-allocs(b, ways[0]), "added-allocs")
			})
		}
	}
}

func allocs(tb testing.TB, ask call) float64 {
	tb.Helper()
	return testing.AllocsPerRun(200, func() { require.NoError(tb, ask(tb.Context())) })
}

// sameTransport answers everything alike.
type sameTransport struct{ contentType, body string }

func (s sameTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {s.contentType}}, Request: r,
		Body: io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

func TestLayerIsLight(t *testing.T) {
	for _, v := range []vendor{vendors[0], claudes} {
		for shape, answer := range v.shapes() {
			t.Run(v.name+" "+shape, func(t *testing.T) {
				spec := providers.Spec{Provider: v.name, Model: v.model, BaseURL: "http://h"}
				base := sameTransport{answer[0], answer[1]}
				m, err := opener{Keys: keys, Transport: base}.Open(spec)
				require.NoError(t, err)
				added := allocs(t, func(ctx context.Context) error { _, err := m.Generate(ctx, hi); return err }) -
					allocs(t, bare(t, v, spec, &http.Client{Transport: base}))
				assert.LessOrEqual(t, added, 100.0, "allocations beside those of net/http")
			})
		}
	}
}
