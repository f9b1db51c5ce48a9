package bedrock

import (
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

func TestDialectOf(t *testing.T) {
	const old, young = 4096, 16384
	tests := []struct {
		id                  string
		version             int
		forced, temperature bool
		maxTokens           int
	}{
		{"anthropic.claude-v2:1", 200, true, true, old},
		{"anthropic.claude-3-haiku-20240307-v1:0", 300, true, true, old},
		{"us.anthropic.claude-3-5-sonnet-20241022-v2:0", 305, true, true, old},
		{"us.anthropic.claude-3-7-sonnet-20250219-v1:0", 307, true, true, young},
		{"anthropic.claude-sonnet-4-20250514-v1:0", 400, true, true, young},
		{"anthropic.claude-opus-4-1-20250805-v1:0", 401, true, true, young},
		{"global.anthropic.claude-haiku-4-5-20251001-v1:0", 405, true, true, young},
		{"us.anthropic.claude-opus-4-6-v1", 406, true, true, young},
		{"anthropic.claude-opus-4-7", 407, true, false, young},
		{"global.anthropic.claude-sonnet-5", 500, true, false, young},
		{"anthropic.claude-fable-5-1", 501, false, false, young},
		{"us.anthropic.claude-opus-5-5", 505, false, false, young},
		{"anthropic.claude-sonnet-6-20270101-v1:0", 600, false, false, young},
		{"anthropic.claude-mythos-preview", unnumbered, false, false, young},
		{"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 405, true, true, young},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			assert.Equal(t, tt.version, versionOf(tt.id))
			c, ok := dialectOf(tt.id).(claude)
			require.True(t, ok)
			assert.Equal(t, tt.forced, c.forced, "forced")
			assert.Equal(t, tt.temperature, c.temperature, "temperature")
			assert.Equal(t, tt.maxTokens, c.maxTokens, "maxTokens")
		})
	}
	for _, id := range []string{"us.amazon.nova-pro-v1:0", "meta.llama3-1-70b-instruct-v1:0", "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"} {
		assert.Equal(t, converse{}, dialectOf(id), id)
	}
}

// A proxy would come from the environment.
func TestNoProxy(t *testing.T) {
	m, err := Opener{Credentials: Keys{ID: "i", Secret: "s"}, Region: "us-east-1"}.open(providers.Spec{Provider: "bedrock", Model: "m"})
	require.NoError(t, err)
	transport, ok := m.wire.transport.(*http.Transport)
	require.True(t, ok)
	assert.Nil(t, transport.Proxy)
}

func TestCallID(t *testing.T) {
	tests := []struct {
		id   string
		kept bool
	}{
		{"toolu_bdrk_01A-b", true},
		{strings.Repeat("x", 64), true},
		{strings.Repeat("x", 65), false},
		{"functions.add:0", false},
		{"", false},
	}
	for _, tt := range tests {
		got := callID(tt.id)
		assert.Equal(t, tt.kept, got == tt.id, tt.id)
		assert.Regexp(t, plainID, got)
		assert.Equal(t, got, callID(tt.id), "the same each time")
	}
	assert.NotEqual(t, callID("a.b"), callID("a:b"))
}

func TestWaitOf(t *testing.T) {
	tests := []struct {
		header, date string
		kind         providers.Kind
		want         time.Duration
	}{
		{"7", "", providers.RateLimited, 7 * time.Second},
		{"1.5", "", providers.Transient, 1500 * time.Millisecond},
		{"7", "", providers.Permanent, 0},
		{"", "", providers.RateLimited, 0},
		{"soon", "", providers.RateLimited, 0},
		{"-1", "", providers.RateLimited, 0},
		{"NaN", "", providers.RateLimited, 0},
		{"1e300", "", providers.RateLimited, 24 * time.Hour},
		{"Fri, 02 Jan 2026 03:05:35 GMT", "Fri, 02 Jan 2026 03:04:05 GMT", providers.RateLimited, 90 * time.Second},
		{"Fri, 02 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 2026 03:05:35 GMT", providers.RateLimited, 0},
		{"Fri, 02 Jan 2099 03:04:05 GMT", "Fri, 02 Jan 2026 03:05:35 GMT", providers.RateLimited, 24 * time.Hour},
	}
	for _, tt := range tests {
		h := http.Header{}
		h.Set("Retry-After", tt.header)
		h.Set("Date", tt.date)
		assert.Equal(t, tt.want, waitOf(tt.kind, h), tt.header)
	}
}

func TestLimitedReader(t *testing.T) {
	for _, wrap := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader,
	} {
		for left, want := range map[int64]string{4: "", 3: "abc", 5: "", 0: ""} {
			l := &limitedReader{r: wrap(strings.NewReader("abcd")), left: left}
			data, err := io.ReadAll(l)
			if left >= 4 {
				require.NoError(t, err)
				assert.Equal(t, "abcd", string(data))
				continue
			}
			require.ErrorIs(t, err, errTooBig)
			assert.Equal(t, want, string(data))
			_, err = l.Read(make([]byte, 1))
			require.ErrorIs(t, err, errTooBig, "read on")
		}
	}
}

func TestUsageOf(t *testing.T) {
	assert.Equal(t, providers.Usage{Input: 13, Output: 5, CacheRead: 4, CacheWrite: 2}, usageOf(7, 5, 4, 2))
	for _, tokens := range [][4]int64{{-1, 5, 4, 2}, {7, -1, 4, 2}, {7, 5, 1 << 50, 2}, {7, 5, 4, -2}} {
		assert.Equal(t, providers.Usage{}, usageOf(tokens[0], tokens[1], tokens[2], tokens[3]))
	}
}

// FuzzStream reads anything as a stream: it must end, and with a stop or an error.
func FuzzStream(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 0, 5, 194, 72, 235, 125, 152, 200, 255}) // an empty event
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range []dialect{claude{}, converse{}} {
			var told strings.Builder
			r := new(reply)
			in := &limitedReader{r: strings.NewReader(string(data)), left: 1 << 20}
			err := readStream(in, d, r, func(text string) error { told.WriteString(text); return nil })
			assert.Equal(t, r.text.String(), told.String())
			if err == nil {
				assert.NotEmpty(t, r.stop)
			}
		}
	})
}

// FuzzAnswer reads anything as an answer or an event of one.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1}}`)
	f.Add(`{"output":{"message":{"content":[{"toolUse":{"toolUseId":"c","name":"f","input":{}}}]}},"stopReason":"tool_use"}`)
	f.Add(`{"bytes":"e30="}`)
	f.Add(`{"error":null,"message":"m","__type":"a#b"}`)
	f.Fuzz(func(t *testing.T, data string) {
		for _, d := range []dialect{claude{}, converse{}} {
			r := new(reply)
			_ = d.answer(r, []byte(data))
			assert.GreaterOrEqual(t, r.usage.Input, r.usage.CacheRead)
			for _, c := range r.calls {
				assert.NotEmpty(t, c.Input)
			}
			for _, kind := range []string{"chunk", "contentBlockDelta", "messageStop", "metadata"} {
				_, _ = d.event(r, kind, []byte(data))
			}
		}
		assert.NotEmpty(t, errors.Join(readVendorError([]byte(data))).Error())
	})
}
