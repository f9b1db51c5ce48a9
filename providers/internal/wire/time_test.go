package wire_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// virtualTransport answers without a network, so that a call fits into a bubble
// with a clock of its own.
type virtualTransport struct {
	wait        time.Duration // before the answer
	contentType string
	body        string
}

func (v virtualTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(v.wait):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {v.contentType}}, Request: r,
		Body: io.NopCloser(strings.NewReader(v.body)),
	}, nil
}

func (v vendor) virtual(t *testing.T, transport virtualTransport, timeout string) providers.Model {
	t.Helper()
	spec := v.spec(&stub{Server: &httptest.Server{URL: "http://h"}})
	spec.Timeout = timeout
	m, err := opener{Keys: keys, Transport: transport}.Open(spec)
	require.NoError(t, err)
	return m
}

func TestTimeouts(t *testing.T) {
	tests := []struct {
		timeout string
		want    time.Duration
	}{{"", 10 * time.Minute}, {"90s", 90 * time.Second}}
	for _, tt := range tests {
		t.Run(tt.timeout, func(t *testing.T) {
			for _, v := range everyone {
				t.Run(v.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						start := time.Now()
						_, err := v.virtual(t, virtualTransport{wait: time.Hour}, tt.timeout).Generate(t.Context(), hi)
						e := fault(t, err)
						assert.Equal(t, providers.Transient, e.Kind)
						assert.Equal(t, "no answer within "+tt.want.String(), e.Message)
						assert.Equal(t, tt.want, time.Since(start))
					})
				})
			}
		})
	}
}

// pausing is a body that waits before each piece.
type pausing struct {
	pieces []string
	pauses []time.Duration
	done   <-chan struct{}
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(p.pauses[0]):
	case <-p.done:
		return 0, context.Canceled
	}
	n := copy(b, p.pieces[0])
	p.pieces, p.pauses = p.pieces[1:], p.pauses[1:]
	return n, nil
}

func (p *pausing) Close() error { return nil }

// speaking answers with a stream that pauses.
type speaking struct{ pausing }

func (s *speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	body := s.pausing
	body.done = r.Context().Done()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: &body}, nil
}

// Before the answer begins a model may think for long; then silence is its end.
func TestSilence(t *testing.T) {
	minute := time.Minute
	for _, v := range everyone {
		pieces := v.pieces([]string{"a", "b"}, providers.StopEnd)
		at := slices.Index(pieces, v.delta("a"))
		event := func(from, to int) string { return "data: " + strings.Join(pieces[from:to], "\n\ndata: ") + "\n\n" }
		begin, first, rest := ": hello\n\n", event(0, at+1), event(at+1, len(pieces))
		tests := []struct {
			name   string
			pieces []string
			pauses []time.Duration
			after  time.Duration
			text   string
		}{
			{name: "thinks long", pieces: []string{begin, begin, first, rest}, pauses: []time.Duration{9 * minute, 9 * minute, 9 * minute, minute / 2}},
			{name: "never begins", pieces: []string{begin, first, rest}, pauses: []time.Duration{minute, 11 * minute, 0}, after: 11 * minute, text: "no answer within 10m0s"},
			{name: "falls silent", pieces: []string{first, rest}, pauses: []time.Duration{0, 2 * minute}, after: minute, text: "nothing heard for 1m0s (after 1 bytes of the answer)"},
			{name: "pings", pieces: []string{first, begin, begin, rest}, pauses: []time.Duration{0, 50 * time.Second, 50 * time.Second, 50 * time.Second}},
		}
		for _, tt := range tests {
			t.Run(v.name+" "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, err := opener{Keys: keys, Transport: &speaking{pausing{pieces: tt.pieces, pauses: tt.pauses}}}.Open(v.spec(&stub{Server: &httptest.Server{URL: "http://h"}}))
					require.NoError(t, err)
					start := time.Now()
					_, err = m.Generate(t.Context(), hi)
					if tt.text == "" {
						require.NoError(t, err)
						return
					}
					e := fault(t, err)
					assert.Equal(t, providers.Transient, e.Kind)
					assert.Equal(t, tt.text, e.Message)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					assert.Equal(t, tt.after, time.Since(start))
				})
			})
		}
	}
}

// The bubble sees goroutines that stay: a stream
// may report an error and continue.
func TestNothingIsLeftRunning(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			for name, pieces := range map[string][]string{
				"answer":     v.pieces([]string{"a", "b"}, providers.StopEnd),
				"two errors": {v.delta("a"), v.eventFailure(overload, "busy"), v.eventFailure(overload, "busy"), v.delta("b")},
				"unfinished": {v.delta("a")},
			} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						m := v.virtual(t, virtualTransport{contentType: "text/event-stream", body: "data: " + strings.Join(pieces, "\n\ndata: ") + "\n\n"}, "")
						req := hi
						req.OnText = func(string) error { return nil }
						_, err := m.Generate(t.Context(), req)
						assert.Equal(t, name == "answer", err == nil)
					})
				})
			}
		})
	}
}
