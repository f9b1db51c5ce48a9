package langchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{
			name: "reset of the reached limit", want: time.Second,
			header: []string{
				"x-ratelimit-reset-requests", "1s", "x-ratelimit-remaining-requests", "0",
				"x-ratelimit-reset-tokens", "6m0s", "x-ratelimit-remaining-tokens", "900",
			},
		},
		{name: "body", body: `[{"error":{"details":[{"retryDelay": "17s"}]}}]`, want: 17 * time.Second},
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

func TestRedactorClean(t *testing.T) {
	r := redactor{"a": "hunter2", "b": "hunter2+more", "c": ""}
	tests := []struct{ text, want string }{
		{"the key hunter2 is wrong", "the key [redacted] is wrong"},
		{"hunter2+more, hunter2%2Bmore", "[redacted], [redacted]"},
		{"provided: sk-proj-abc_123456.", "provided: [redacted]."},
		{"Authorization: Bearer abcdefghijklmnop", "Authorization: [redacted]"},
		{"?key=abcdefghijklmnop&x", "?[redacted]&x"},
		{"missing bearer authentication", "missing bearer authentication"},
		{"unknown key: response_format_type", "unknown key: response_format_type"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, r.clean(tt.text), tt.text)
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

func TestPatchKeepsTheOrderOfASchema(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"why":{"maximum":1e3},"answer":{}},"anyOf":[]}`)
	got, err := patch([]byte(`{"model":"m","temperature":0,"big":12345678901234567890}`), vendors["openai"], providers.Request{Output: schema})
	require.NoError(t, err)
	assert.Equal(t, `{"big":12345678901234567890,"model":"m",`+
		`"response_format":{"json_schema":{"name":"answer","schema":`+string(schema)+`},"type":"json_schema"}}`, string(got))
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
		assert.Equal(t, tt.back, arguments(got))
	}
}

func FuzzReadStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n"))
	f.Add([]byte("data: {\"error\":{\"message\":\"x\",\"code\":429}}\n"))
	f.Add([]byte(": comment\ndata:\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		told := ""
		body, err := readStream(bytes.NewReader(in), 1<<16, func(s string) error { told += s; return nil })
		if !json.Valid(body) {
			t.Fatalf("readStream(%q) = %q, %v", in, body, err)
		}
		if err == nil && !bytes.Contains(body, []byte(`"finish_reason":"`)) {
			t.Fatalf("readStream(%q) finished without a reason: %s", in, body)
		}
	})
}

func FuzzReadVendorError(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"x","code":429}}`, `[{"error":"x"}]`, `{"message":"x"}`, `<html>`, `null`, `[]`} {
		f.Add([]byte(s), 500)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		e := &providers.Error{}
		v := readVendorError(body)
		v.fill(e, status)
		if e.Kind == "" {
			t.Errorf("no kind for %q with status %d", body, status)
		}
	})
}
