package langchain_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
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
	m, err := langchain.Opener{Keys: keys, Transport: transport}.Open(
		providers.Spec{Provider: v.name, Model: v.model, BaseURL: "http://h", Timeout: timeout})
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
			for _, v := range vendors {
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

// The bubble sees goroutines that stay: langchaingo leaves some behind when a
// stream reports an error, and goes on.
func TestNothingIsLeftRunning(t *testing.T) {
	for _, v := range vendors {
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
