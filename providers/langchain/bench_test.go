package langchain_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	lcanthropic "github.com/tmc/langchaingo/llms/anthropic"
	lcopenai "github.com/tmc/langchaingo/llms/openai"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
)

var conversation = []llms.MessageContent{
	llms.TextParts(llms.ChatMessageTypeSystem, "be brief"),
	llms.TextParts(llms.ChatMessageTypeHuman, "hi"),
}

// call is one way to ask a model.
type call func(ctx context.Context) error

// bare returns langchaingo's own client for v's model, asked what hi asks.
func bare(tb testing.TB, v vendor, spec providers.Spec, client *http.Client) call {
	tb.Helper()
	var m llms.Model
	var err error
	if v.claude {
		m, err = lcanthropic.New(lcanthropic.WithToken(secret), lcanthropic.WithModel(spec.Model), lcanthropic.WithBaseURL(spec.BaseURL), lcanthropic.WithHTTPClient(client))
	} else {
		m, err = lcopenai.New(lcopenai.WithToken(secret), lcopenai.WithModel(spec.Model), lcopenai.WithBaseURL(spec.BaseURL), lcopenai.WithHTTPClient(client))
	}
	require.NoError(tb, err)
	return func(ctx context.Context) error {
		_, err := m.GenerateContent(ctx, conversation)
		return err
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

// BenchmarkLayer makes calls to a server on the loopback, in turn through the bare
// client and through ours, and reports what ours adds to one.
func BenchmarkLayer(b *testing.B) {
	for _, v := range []vendor{vendors[0], anthropic} {
		b.Run(v.name, func(b *testing.B) {
			body := v.body(hello)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			spec := v.spec(&stub{Server: server})
			ways := [2]call{bare(b, v, spec, &http.Client{Transport: &http.Transport{}}), ours(b, spec)}
			var took [2]time.Duration
			for range b.N {
				for i, ask := range ways {
					start := time.Now()
					require.NoError(b, ask(b.Context()))
					took[i] += time.Since(start)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "bare-ns")
			b.ReportMetric(float64((took[1]-took[0]).Nanoseconds())/float64(b.N), "added-ns")
			b.ReportMetric(allocs(b, ways[0]), "bare-allocs")
			b.ReportMetric(allocs(b, ways[1])-allocs(b, ways[0]), "added-allocs")
		})
	}
}

func allocs(tb testing.TB, ask call) float64 {
	tb.Helper()
	return testing.AllocsPerRun(200, func() { require.NoError(tb, ask(tb.Context())) })
}

// sameTransport answers everything alike.
type sameTransport struct{ body string }

func (s sameTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

func TestLayerIsLight(t *testing.T) {
	for _, v := range []vendor{vendors[0], anthropic} {
		t.Run(v.name, func(t *testing.T) {
			spec := providers.Spec{Provider: v.name, Model: v.model, BaseURL: "http://h"}
			base := sameTransport{v.body(hello)}
			m, err := langchain.Opener{Keys: keys, Transport: base}.Open(spec)
			require.NoError(t, err)
			added := allocs(t, func(ctx context.Context) error { _, err := m.Generate(ctx, hi); return err }) -
				allocs(t, bare(t, v, spec, &http.Client{Transport: base}))
			assert.LessOrEqual(t, added, 100.0, "allocations beside langchaingo's")
		})
	}
}
