package bedrock_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/smithy-go/eventstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
	"github.com/convene-go/convene/providers/internal/failtest"
	"github.com/convene-go/convene/providers/modeltest"
)

// keys have no key's shape, so that only knowing them takes them out of a text.
var keys = bedrock.Keys{ID: "the-id-of-the-key", Secret: "wJalr/the+secret/of=the+key", Session: "IQoJb3/the+token=="}

const home = "eu-west-3"

// stub is a server that speaks Bedrock's wire format, checks each signature, and
// keeps what it was sent.
type stub struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	paths   []string
	bodies  []string
}

// serve starts a stub. The handler need not read the request.
func serve(t testing.TB, handle http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		checkSignature(t, r, body)
		assert.NotContains(t, fmt.Sprint(r.Header, r.URL, string(body)), keys.Secret, "the secret is sent")
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.paths = append(s.paths, r.URL.EscapedPath())
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// sent returns the only request's body.
func (s *stub) sent(t *testing.T) map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.bodies, 1)
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &body))
	return body
}

// field returns one field of the only request's body as JSON.
func (s *stub) field(t *testing.T, name string) string {
	t.Helper()
	data, err := json.Marshal(s.sent(t)[name])
	require.NoError(t, err)
	return string(data)
}

var reply = failtest.Reply

// refuse answers as AWS does; headers are name, value, ...
func refuse(status int, code, message string, headers ...string) http.HandlerFunc {
	return reply(status, fmt.Sprintf(`{"message":%q}`, message),
		append(headers, "X-Amzn-Errortype", code+":http://internal.amazon.com/coral/com.amazon.bedrock/")...)
}

// frame returns an event as it is sent; headers are name, value, ...
func frame(payload string, headers ...string) []byte {
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// exception returns the event that reports an error.
func exception(code, message string) []byte {
	return frame(fmt.Sprintf(`{"message":%q}`, message), ":message-type", "exception", ":exception-type", code)
}

// events answers with a stream of frames.
func events(frames ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		for _, f := range frames {
			_, _ = w.Write(f)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// family is a kind of models: what every case is run on.
type family struct {
	model, escaped string
	whole, stream  string // the ends of the paths
}

var families = map[string]family{
	"claude": {
		model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", escaped: "eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0",
		whole: "/invoke", stream: "/invoke-with-response-stream",
	},
	"converse": {
		model:   "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.amazon.nova-pro-v1:0",
		escaped: "arn%3Aaws%3Abedrock%3Aeu-west-3%3A123456789012%3Ainference-profile%2Feu.amazon.nova-pro-v1%3A0",
		whole:   "/converse", stream: "/converse-stream",
	},
}

func (f family) claude() bool { return f.whole == "/invoke" }

// usage is that of all answers: 7 tokens in, 4 from the cache, 2 into it, 5 out.
var usage = providers.Usage{Input: 13, Output: 5, CacheRead: 4, CacheWrite: 2}

// counts returns u as the models report it: they count cached tokens apart.
func (f family) counts(u providers.Usage) string {
	form := `"usage":{"inputTokens":%d,"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d,"outputTokens":%d}`
	if f.claude() {
		form = `"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}`
	}
	return fmt.Sprintf(form, u.Input-u.CacheRead-u.CacheWrite, u.CacheRead, u.CacheWrite, u.Output)
}

// says returns a whole answer of some blocks.
func (f family) says(stop string, blocks ...string) string {
	content := "[" + strings.Join(blocks, ",") + "]"
	if f.claude() {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":` + content +
			`,"stop_reason":` + stop + `,"stop_sequence":null,` + f.counts(usage) + `}`
	}
	return `{"output":{"message":{"role":"assistant","content":` + content + `}},"stopReason":` + stop +
		`,"metrics":{"latencyMs":1},` + f.counts(usage) + `}`
}

func (f family) text(text string) string {
	if f.claude() {
		return fmt.Sprintf(`{"type":"text","text":%q}`, text)
	}
	return fmt.Sprintf(`{"text":%q}`, text)
}

func (f family) thought(signature string) string {
	if f.claude() {
		return fmt.Sprintf(`{"type":"thinking","thinking":"hm","signature":%q}`, signature)
	}
	return fmt.Sprintf(`{"reasoningContent":{"reasoningText":{"text":"hm","signature":%q}}}`, signature)
}

func (f family) call(id, name, input string) string {
	if f.claude() {
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
	}
	return fmt.Sprintf(`{"toolUse":{"toolUseId":%q,"name":%q,"input":%s}}`, id, name, input)
}

func (f family) hello() string { return f.says(`"end_turn"`, f.text("hello")) }

// chunk returns an event of Anthropic's as AWS sends it.
func chunk(event string) []byte {
	return frame(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abcdefgh"}`,
		":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

func event(kind, payload string) []byte {
	return frame(payload, ":event-type", kind, ":content-type", "application/json", ":message-type", "event")
}

// start returns the events before the text.
func (f family) start(u providers.Usage) [][]byte {
	if f.claude() {
		u.Output = 1 // so far
		return [][]byte{
			event("initial-response", ""),
			chunk(`{"type":"message_start","message":{"type":"message","content":[],"stop_reason":null,` + f.counts(u) + `}}`),
			chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`),
			chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`),
			chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S=="}}`),
			chunk(`{"type":"content_block_stop","index":0}`),
			chunk(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`),
			chunk(`{"type":"ping"}`),
		}
	}
	return [][]byte{
		event("initial-response", ""),
		event("messageStart", `{"role":"assistant"}`),
		event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}`),
		event("contentBlockStop", `{"contentBlockIndex":0}`),
	}
}

func (f family) delta(text string) []byte {
	if f.claude() {
		return chunk(fmt.Sprintf(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":%q}}`, text))
	}
	return event("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":1,"delta":{"text":%q}}`, text))
}

// callFrames returns the events of a tool call, and of the thought before it.
func (f family) callFrames(at int, c providers.ToolCall) [][]byte {
	var out [][]byte
	add := func(claude, kind, converse string, args ...any) {
		if f.claude() {
			out = append(out, chunk(fmt.Sprintf(claude, args...)))
			return
		}
		out = append(out, event(kind, fmt.Sprintf(converse, args...)))
	}
	if len(c.Extra) > 0 {
		if f.claude() {
			out = append(out, chunk(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, at)))
		}
		add(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":%q}}`, "contentBlockDelta",
			`{"contentBlockIndex":%d,"delta":{"reasoningContent":{"signature":%q}}}`, at, string(c.Extra))
		add(`{"type":"content_block_stop","index":%d}`, "contentBlockStop", `{"contentBlockIndex":%d}`, at)
	}
	at++
	add(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, "contentBlockStart",
		`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":%q,"name":%q}}}`, at, c.ID, c.Name)
	for _, piece := range modeltest.Chunks(string(c.Input)) {
		add(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, "contentBlockDelta",
			`{"contentBlockIndex":%d,"delta":{"toolUse":{"input":%q}}}`, at, piece)
	}
	add(`{"type":"content_block_stop","index":%d}`, "contentBlockStop", `{"contentBlockIndex":%d}`, at)
	return out
}

// end returns the events after the text.
func (f family) end(stop string, u providers.Usage) [][]byte {
	if f.claude() {
		return [][]byte{
			chunk(`{"type":"content_block_stop","index":1}`),
			chunk(fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, stop, u.Output)),
			chunk(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"invocationLatency":1}}`),
		}
	}
	return [][]byte{
		event("contentBlockStop", `{"contentBlockIndex":1}`),
		event("messageStop", fmt.Sprintf(`{"stopReason":%q}`, stop)),
		event("metadata", `{"metrics":{"latencyMs":1},`+f.counts(u)+`}`),
	}
}

// streams returns a whole stream of texts.
func (f family) streams(stop string, texts ...string) http.HandlerFunc {
	frames := f.start(usage)
	for _, text := range texts {
		frames = append(frames, f.delta(text))
	}
	return events(append(frames, f.end(stop, usage)...)...)
}

var hi = providers.Request{Messages: []providers.Message{
	{Role: providers.System, Text: "be brief"},
	{Role: providers.User, Text: "hi"},
}}

// open opens f's model at s.
func (f family) open(t testing.TB, s *stub) providers.Model {
	t.Helper()
	return open(t, providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: s.URL})
}

func open(t testing.TB, spec providers.Spec) providers.Model {
	t.Helper()
	m, err := bedrock.Open(keys, home)(spec)
	require.NoError(t, err)
	return m
}

// fault returns err as what every error must be: typed, naming the model, and
// without a key in any of its forms.
func fault(t *testing.T, err error) *providers.Error {
	t.Helper()
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Model, "bedrock:")
	require.ErrorIs(t, err, e.Kind)
	for _, text := range []string{err.Error(), e.Message, fmt.Sprintf("%v %+v %#v", err, *e, *e), fmt.Sprintf("%v %#v", e.Err, e.Err), fmt.Sprint(errors.Unwrap(e.Err))} {
		for _, key := range []string{keys.ID, keys.Secret, keys.Session} {
			assert.NotContains(t, text, key)
		}
	}
	return e
}

// crc returns the checksum of data as events have it.
func crc(data []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
}
