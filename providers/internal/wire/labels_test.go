package wire_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/failtest"
)

// labels are what gateways write over answers of every kind.
var labels = []string{"application/json", "text/event-stream; charset=utf-8", "text/plain", "application/octet-stream", "text/html", "nonsense;;", ""}

// labeled answers with a body under a label; "": without one.
func labeled(label, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if label != "" {
			w.Header().Set("Content-Type", label)
		}
		_, _ = w.Write([]byte(body))
	}
}

// stream is a whole stream of v that says hello.
func (v vendor) stream() string {
	return "data: " + strings.Join(v.pieces([]string{"hel", "lo"}, providers.StopEnd), "\n\ndata: ") + "\n\n"
}

// An answer is what its content is, whatever its label says.
func TestLabels(t *testing.T) {
	bodies := map[string]func(v vendor) string{
		"a stream":                        vendor.stream,
		"a stream of named events":        func(v vendor) string { return "event: x\n" + v.stream() },
		"a stream that begins with an ID": func(v vendor) string { return "id: 1\n" + v.stream() },
		"a stream with a comment before":  func(v vendor) string { return ": ping\n\n" + v.stream() },
		"a stream with a retry before":    func(v vendor) string { return "retry: 5\n\n" + v.stream() },
		"an answer":                       func(v vendor) string { return v.body(hello) },
		"an answer after empty lines":     func(v vendor) string { return strings.Repeat("\r\n", 5000) + v.body(hello) },
		"a stream after empty lines":      func(v vendor) string { return strings.Repeat("\n", 5000) + v.stream() },
		"an answer with a byte mark":      func(v vendor) string { return "\xef\xbb\xbf" + v.body(hello) },
		"a stream with a byte mark":       func(v vendor) string { return "\xef\xbb\xbf" + v.stream() },
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			for _, v := range everyone {
				for _, label := range labels {
					_, spec := v.serve(t, labeled(label, body(v)))
					resp, told, err := streamed(t, spec, hi)
					require.NoError(t, err, "%s under %q", v.name, label)
					assert.Equal(t, "hello", resp.Text, "%s under %q", v.name, label)
					assert.Equal(t, "hello", strings.Join(told, ""), "%s under %q", v.name, label)
					assert.Equal(t, v.charged(), resp.Usage, "%s under %q", v.name, label)
				}
			}
		})
	}
}

// A stream that breaks off is charged whatever its label says.
func TestCutStreamsAreChargedUnderEveryLabel(t *testing.T) {
	for _, v := range everyone {
		for _, label := range labels {
			long := strings.Repeat("word ", 200)
			_, spec := v.serve(t, failtest.Cut(label, "data: "+v.delta(long)+"\n\n"))
			spec.Price = &providers.Price{Input: providers.USD, Output: providers.USD}
			_, err := open(t, spec).Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind, "%s under %q", v.name, label)
			assert.InDelta(t, 250, e.Usage.Output, 5, "%s under %q", v.name, label)
			assert.Positive(t, e.Usage.Cost, "%s under %q", v.name, label)
		}
	}
}

// What is estimated of an answer that cannot be read is never more than was asked for.
func TestEstimatesOfUnreadableAnswers(t *testing.T) {
	garbage := strings.Repeat("?", 4000)
	tests := []struct {
		name, label, body string
		most              int
		output            int64
	}{
		{"an answer in one piece", "application/json", `{"x":"` + garbage, 0, 1 + 4006/4},
		{"at most what was asked for", "application/json", `{"x":"` + garbage, 100, 100},
		{"a stream", "text/event-stream", garbage, 0, 4000 / 250},
		{"nothing", "text/event-stream", "", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range everyone {
				_, spec := v.serve(t, labeled(tt.label, tt.body))
				req := hi
				req.MaxTokens = tt.most
				_, err := open(t, spec).Generate(t.Context(), req)
				want := providers.Usage{Calls: 1, Input: 3, Output: tt.output, Unpriced: 1}
				assert.Equal(t, want, fault(t, err).Usage, v.name)
			}
		})
	}
}

// The usage that a vendor has reported counts for an answer that cannot be used, also
// where its end is missing.
func TestReportedUsageCounts(t *testing.T) {
	for _, v := range everyone {
		pieces := v.pieces([]string{"a"}, providers.StopEnd)
		tests := map[string]http.HandlerFunc{
			"an answer without words": reply(200, v.body(said{stop: providers.StopEnd})),
			"a stream without words":  labeled("application/json", "data: "+strings.Join(v.pieces(nil, providers.StopEnd), "\n\ndata: ")+"\n\n"),
		}
		if !v.responses { // there the usage and the end are one event
			tests["a stream that breaks after the usage"] = failtest.Cut("text/event-stream", "data: "+strings.Join(pieces[:len(pieces)-1], "\n\ndata: ")+"\n\ndata: {")
		}
		for name, handle := range tests {
			_, spec := v.serve(t, handle)
			_, err := open(t, spec).Generate(t.Context(), hi)
			require.Error(t, err, "%s: %s", v.name, name)
			assert.Equal(t, v.charged(), fault(t, err).Usage, "%s: %s", v.name, name)
		}
	}
}

// FuzzLabels reads anything under two labels: where the content says what it is, both
// give the same. What fails costs nothing only if the vendor or a page says so.
func FuzzLabels(f *testing.F) {
	for _, v := range everyone {
		f.Add(v.body(hello))
		f.Add(v.stream())
		f.Add("\xef\xbb\xbf\r\n\n" + v.stream()[:len(v.stream())/2])
		f.Add(v.eventFailure(limited, "slow down"))
	}
	f.Add("\n <html><script>x</script>Sign in")
	f.Add("event: x\n")
	f.Add("\x00\x00\x00\x10")
	f.Fuzz(func(t *testing.T, body string) {
		for _, v := range []vendor{vendors[0], claudes, everyone[len(everyone)-1]} {
			var texts []string
			for _, label := range []string{"application/json", "text/event-stream"} {
				m, err := opener{Keys: keys, Transport: sameTransport{label, body}}.Open(v.spec(&stub{Server: &httptest.Server{URL: "http://h"}}))
				require.NoError(t, err)
				got, err := m.Generate(t.Context(), hi)
				texts = append(texts, fmt.Sprintf("%+v %v", got, err))
				if err == nil {
					continue
				}
				e := fault(t, err)
				page := strings.Contains(e.Message, "not a model's")
				if e.Usage.Negative() || page && (e.Usage != providers.Usage{} || e.Kind != providers.Permanent) {
					t.Fatalf("%s: %q under %s: %+v", v.name, body, label, e)
				}
				if unread := strings.HasPrefix(e.Message, "read ") || strings.Contains(e.Message, "finish reason"); unread && e.Usage.Calls != 1 {
					t.Fatalf("%s: %q under %s is not counted: %+v", v.name, body, label, e)
				}
			}
			head := strings.TrimLeft(strings.TrimPrefix(body, "\xef\xbb\xbf"), " \t\r\n")
			if clear := regexp.MustCompile(`^([{[:]|data:|event:|id:|retry:)`).MatchString(head); clear && texts[0] != texts[1] {
				t.Fatalf("%s: %q is\n%s\n%s", v.name, body, texts[0], texts[1])
			}
		}
	})
}
