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
		assert.Equal(t, tt.back, arguments(got))
	}
}

func TestFit(t *testing.T) {
	const no = "cannot be said"
	tests := []struct{ name, schema, strict, gemini, claude string }{
		{
			name:   "bounds and annotations",
			schema: `{"$schema":"x","type":"object","title":"T","properties":{"z":{"type":"string","minLength":1,"maxLength":9,"pattern":"^a","format":"uri","default":"a"},"a":{"type":"array","items":{"type":"number","minimum":0,"exclusiveMaximum":1},"minItems":1,"uniqueItems":true}},"required":["z","a"]}`,
			strict: `{"type":"object","title":"T","properties":{"z":{"type":"string","pattern":"^a"},"a":{"type":"array","items":{"type":"number","minimum":0,"exclusiveMaximum":1},"minItems":1}},"required":["z","a"],"additionalProperties":false}`,
			gemini: `{"type":"object","title":"T","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"type":"number","minimum":0},"minItems":1}},"required":["z","a"]}`,
			claude: `{"type":"object","title":"T","properties":{"z":{"type":"string","format":"uri","default":"a"},"a":{"type":"array","items":{"type":"number"}}},"required":["z","a"],"additionalProperties":false}`,
		},
		{
			name:   "optional fields",
			schema: `{"type":"object","properties":{"e":{"type":"string","enum":["x"]},"n":{"type":["string","null"]},"r":{"$ref":"#/$defs/D","description":"d"},"o":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"}}}}}`,
			strict: `{"type":"object","properties":{"e":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]},"n":{"type":["string","null"]},"r":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"null"}]},"o":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":["boolean","null"]}},"required":["b"],"additionalProperties":false}},"required":["e","n","r","o"],"additionalProperties":false}`,
			gemini: `{"type":"object","properties":{"e":{"type":"string","enum":["x"]},"n":{"type":["string","null"]},"r":{"$ref":"#/$defs/D"},"o":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"}}}}}`,
			claude: `{"type":"object","properties":{"e":{"type":"string","enum":["x"]},"n":{"type":["string","null"]},"r":{"$ref":"#/$defs/D"},"o":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"}},"additionalProperties":false}},"additionalProperties":false}`,
		},
		{
			name:   "const, and null that is not the answer",
			schema: `{"type":["object","null"],"properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":{"not":{}}}`,
			strict: `{"type":"object","properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":false}`,
			gemini: `{"type":"object","properties":{"k":{"enum":["x"]}},"required":["k"]}`,
			claude: `{"type":"object","properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":false}`,
		},
		{
			name:   "a schema in itself",
			schema: `{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"]}}}`,
			strict: `{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],"additionalProperties":false}},"required":["next"],"additionalProperties":false}`,
			gemini: `{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"]}}}`,
			claude: no,
		},
		{name: "a map", schema: `{"type":"object","additionalProperties":{"type":"integer"}}`, strict: no, gemini: no, claude: no},
		{name: "a map inside", schema: `{"type":"object","properties":{"m":{"type":"object","additionalProperties":true}}}`, strict: no, gemini: no, claude: no},
		{name: "any value", schema: `{"type":"object","properties":{"v":{"description":"any"}}}`, strict: no, gemini: no, claude: no},
		{name: "true", schema: `{"type":"object","properties":{"v":true}}`, strict: no, gemini: no, claude: no},
		{name: "any object", schema: `{"type":"object"}`, strict: no, gemini: no, claude: no},
		{name: "a list of anything", schema: `{"type":"object","properties":{"l":{"type":"array"}}}`, strict: no, gemini: no, claude: no},
		{name: "a tuple", schema: `{"type":"object","properties":{"l":{"type":"array","prefixItems":[{"type":"string"}]}}}`, strict: no, gemini: no, claude: no},
		{name: "all of", schema: `{"type":"object","allOf":[{"type":"object"}],"properties":{"a":{"type":"string"}}}`, strict: no, gemini: no, claude: no},
		{name: "no schema", schema: `[]`, strict: no, gemini: no, claude: no},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, want := range map[string]string{"strict": tt.strict, "gemini": tt.gemini, "claude": tt.claude} {
				d := map[string]dialectOfSchema{"strict": strictSchema, "gemini": geminiSchema, "claude": claudeSchema}[name]
				got, widened, ok := d.fit(json.RawMessage(tt.schema))
				if !ok {
					got = []byte(no)
				}
				assert.Equal(t, want, string(got), name)
				assert.Equal(t, name == "strict" && tt.name == "optional fields", widened, name)
			}
		})
	}
}

func TestWithoutNulls(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"need":{"type":["string","null"]},"may":{"type":"string"},"null":{"type":["integer","null"]},"any":{},
		"list":{"type":"array","items":{"$ref":"#/$defs/D"}},"or":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"null"}]},
		"two":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"null"}}}]}
	},"required":["need"],"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"},"next":{"$ref":"#/$defs/D"}}}}}`
	tests := []struct{ name, text, want string }{
		{"optional", `{"need":"a","may":null}`, `{"need":"a"}`},
		{"required", `{"need":null}`, `{"need":null}`},
		{"allowed", `{"null":null,"any":null,"or":null}`, `{"null":null,"any":null,"or":null}`},
		{"unknown", `{"other":null}`, `{"other":null}`},
		{"inside", `{"list":[{"b":null},{"b":true,"next":{"next":null}}],"or":{"b":null}}`, `{"list":[{},{"b":true,"next":{}}],"or":{}}`},
		{"a choice", `{"two":{"x":null}}`, `{"two":{"x":null}}`},
		{"nothing to do", "{ \"need\" : 1.50 }\n", "{ \"need\" : 1.50 }\n"},
		{"numbers stay", `{"may":null,"need":12345678901234567890}`, `{"need":12345678901234567890}`},
		{"another value", `[null]`, `[null]`},
		{"no JSON", `{"may":null`, `{"may":null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, withoutNulls(json.RawMessage(schema), tt.text))
		})
	}
	assert.Equal(t, `{"a":null}`, withoutNulls(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`), `{"a":null}`), "references that go round")
}

func TestWireID(t *testing.T) {
	assert.Equal(t, "call_1-A", wireID("call_1-A"))
	for _, odd := range []string{"", "functions.f:0", strings.Repeat("x", 41), "ä"} {
		got := wireID(odd)
		assert.Regexp(t, `^call_[0-9a-f]{32}$`, got)
		assert.Equal(t, got, wireID(odd))
	}
	assert.NotEqual(t, wireID("a.b"), wireID("a:b"))
}

func FuzzReadStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n"))
	f.Add([]byte("data: {\"error\":{\"message\":\"x\",\"code\":429}}\n"))
	f.Add([]byte("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\ndata: {\"type\":\"message_stop\"}\n"))
	f.Add([]byte("data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}\n"))
	f.Add([]byte(": comment\ndata:\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, d := range []dialect{chat{}, claude{}} {
			told := ""
			body, err := readStream(bytes.NewReader(in), 1<<16, d.stream(), func(s string) error { told += s; return nil })
			if !json.Valid(body) {
				t.Fatalf("readStream(%q) = %q, %v", in, body, err)
			}
			w := d.read(newExchange(&model{vendor: vendor{dialect: d}}, providers.Request{}), body)
			if err == nil && w.err != nil {
				t.Fatalf("readStream(%q) = %q, which cannot be read: %v", in, body, w.err)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{"}}]}}],"usage":{"prompt_tokens":-1}}`))
	f.Add([]byte(`{"content":[{"type":"tool_use","input":"x"},{"type":"thinking"}],"stop_reason":null}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, d := range []dialect{chat{}, claude{}} {
			w := d.read(newExchange(&model{vendor: vendor{dialect: d, extras: true}}, providers.Request{}), in)
			for _, c := range w.calls {
				if c.ID == "" || !json.Valid(c.Input) || c.Extra != nil && !json.Valid(c.Extra) {
					t.Fatalf("read(%q) has the call %+v", in, c)
				}
			}
			if w.plain != nil && !json.Valid(w.plain) {
				t.Fatalf("read(%q) is plainly %q", in, w.plain)
			}
		}
	})
}

func FuzzFit(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#"}}}`, `{"a":null}`)
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		for _, d := range []dialectOfSchema{strictSchema, geminiSchema, claudeSchema} {
			got, _, ok := d.fit(json.RawMessage(schema))
			if ok && !json.Valid(got) {
				t.Fatalf("fit(%s) = %q", schema, got)
			}
		}
		if out := withoutNulls(json.RawMessage(schema), text); json.Valid([]byte(text)) && !json.Valid([]byte(out)) {
			t.Fatalf("withoutNulls(%s, %s) = %q", schema, text, out)
		}
	})
}

func FuzzReadVendorError(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"x","code":429}}`, `[{"error":"x"}]`, `{"message":"x"}`, `<html>`, `null`, `[]`, `{"error":false}`} {
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

func TestPatchedKeepsTheOrderOfASchema(t *testing.T) {
	ex := newExchange(&model{vendor: vendors["ollama"]}, providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "hi"}},
		Output:   json.RawMessage(`{"properties":{"why":{"maximum":1e3},"answer":{}},"anyOf":[]}`),
	})
	got, err := patched(ex, []byte(`{"model":"m","temperature":0,"big":12345678901234567890}`))
	require.NoError(t, err)
	assert.Equal(t, `{"big":12345678901234567890,"messages":[{"role":"user","content":"hi"}],"model":"m",`+
		`"response_format":{"json_schema":{"name":"answer","schema":{"properties":{"why":{"maximum":1e3},"answer":{}},"anyOf":[]}},"type":"json_schema"}}`, string(got))
}
