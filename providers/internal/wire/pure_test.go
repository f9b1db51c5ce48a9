package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/providers"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name   string
		header []string // name, value, ...
		body   string
		want   time.Duration
	}{
		{name: "not said"},
		{name: "milliseconds win", header: []string{"retry-after-ms", "1500", "Retry-After", "9"}, want: 1500 * time.Millisecond},
		{name: "seconds", header: []string{"Retry-After", "7"}, want: 7 * time.Second},
		{name: "fraction", header: []string{"Retry-After", "0.25"}, want: 250 * time.Millisecond},
		{name: "date by our clock", header: []string{"Retry-After", "Fri, 02 Jan 2026 03:05:35 GMT"}, want: 90 * time.Second},
		{
			name: "date by their clock", want: 30 * time.Second,
			header: []string{"Retry-After", "Fri, 02 Jan 2026 03:05:35 GMT", "Date", "Fri, 02 Jan 2026 03:05:05 GMT"},
		},
		{name: "date gone by", header: []string{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT"}},
		{name: "negative", header: []string{"Retry-After", "-5"}},
		{name: "no number", header: []string{"Retry-After", "NaN"}},
		{name: "for ever", header: []string{"Retry-After", "Inf"}, want: maxRetryAfter},
		{name: "garbage", header: []string{"Retry-After", "soon"}},
		{name: "resets", header: []string{"x-ratelimit-reset-requests", "1s", "x-ratelimit-reset-tokens", "6m0s"}, want: 6 * time.Minute},
		{name: "reset in seconds", header: []string{"x-ratelimit-reset-requests", "10"}, want: 10 * time.Second},
		{
			name: "reset of the reached limit", want: time.Second,
			header: []string{
				"x-ratelimit-reset-requests", "1s", "x-ratelimit-remaining-requests", "0",
				"x-ratelimit-reset-tokens", "6m0s", "x-ratelimit-remaining-tokens", "900",
			},
		},
		{
			name: "reset as a time", want: 20 * time.Second,
			header: []string{
				"anthropic-ratelimit-requests-reset", "2026-01-02T03:10:00Z", "anthropic-ratelimit-requests-remaining", "9",
				"anthropic-ratelimit-output-tokens-reset", "2026-01-02T03:04:25Z", "anthropic-ratelimit-output-tokens-remaining", "0",
			},
		},
		{name: "body", body: `[{"error":{"details":[{"retryDelay": "17s"}]}}]`, want: 17 * time.Second},
		{name: "words", body: "Please try again in 1m30s.", want: 90 * time.Second},
		{name: "words with milliseconds", body: "Please try again in 20ms. Or not.", want: 20 * time.Millisecond},
		{name: "words with seconds", body: "Please retry after 26 seconds.", want: 26 * time.Second},
		{name: "words with another unit", body: "Please retry after 5 days."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for i := 0; i < len(tt.header); i += 2 {
				h.Set(tt.header[i], tt.header[i+1])
			}
			assert.Equal(t, tt.want, retryAfter(h, []byte(tt.body), now))
		})
	}
}

func TestShort(t *testing.T) {
	assert.Equal(t, "one line [31mof text", short("one\nline\x1b [31mof\ttext\x00 "))
	assert.Equal(t, strings.Repeat("ä", 300)+"...", short(strings.Repeat("ä", 400)))
	assert.Equal(t, "a?b", short("a\xffb"))
}

func TestLimitedReader(t *testing.T) {
	for size := range 8 {
		for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader} {
			data := strings.Repeat("x", size)
			got, err := io.ReadAll(&limitedReader{r: wrap(strings.NewReader(data)), left: 4})
			if want := min(size, 4); len(got) != want {
				t.Errorf("of %d bytes %d were read, want %d", size, len(got), want)
			}
			if tooBig := size > 4; errors.Is(err, errTooBig) != tooBig {
				t.Errorf("%d bytes: error is %v", size, err)
			}
		}
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	assert.Nil(t, sharedTransport.(*http.Transport).Proxy)
}

func TestToolInput(t *testing.T) {
	tests := []struct{ arguments, want, back string }{
		{`{"a":1}`, `{"a":1}`, `{"a":1}`},
		{``, `{}`, `{}`},
		{`{"a":`, `"{\"a\":"`, `{"a":`},
		{`null`, `null`, `null`},
	}
	for _, tt := range tests {
		got := toolInput(tt.arguments)
		assert.Equal(t, tt.want, string(got))
		assert.Equal(t, tt.back, Arguments(got))
	}
}

func TestID(t *testing.T) {
	assert.Equal(t, "call_1-A", ID("call_1-A"))
	for _, odd := range []string{"", "functions.f:0", strings.Repeat("x", 41), "ä"} {
		got := ID(odd)
		assert.Regexp(t, `^call_[0-9a-f]{32}$`, got)
		assert.Equal(t, got, ID(odd))
	}
	assert.NotEqual(t, ID("a.b"), ID("a:b"))
}

func FuzzReadSaid(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"x","code":429}}`, `[{"error":"x"}]`, `{"message":"x"}`, `<html>`, `null`, `[]`, `{"error":false}`} {
		f.Add([]byte(s), 500)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		e := &providers.Error{Status: status}
		readSaid(body, http.Header{}).fill(e)
		if e.Kind == "" {
			t.Errorf("no kind for %q with status %d", body, status)
		}
	})
}
