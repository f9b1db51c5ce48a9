package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/npmtest"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/openai"
)

var programs = npmtest.Programs{Folder: "testdata/npm"}

func TestMain(m *testing.M) {
	m.Run()
	programs.Remove()
}

const secret = "sk-of-the-test-0123456789"

var keys = providers.Keys{"openai": secret, "azure": secret, "corp": secret, "anthropic": secret}

func open(t *testing.T, spec providers.Spec, header http.Header) providers.Model {
	t.Helper()
	openers := providers.Openers{
		"": openai.Opener{Keys: keys, Header: header}.Open, "anthropic": anthropic.Opener{Keys: keys, Header: header}.Open,
	}
	m, err := openers.Open(spec)
	require.NoError(t, err)
	return m
}

// aimock starts a server of many vendors' formats, whose answers are those of
// testdata/talk.json, and which wants the key.
func aimock(t *testing.T) (url string) {
	t.Helper()
	node, script := programs.Script(t, "@copilotkit", "aimock", "dist", "cli.js")
	if major, minor := npmtest.Version(t, node); major < 20 || major == 20 && minor < 15 {
		t.Skipf("the server needs Node.js 20.15, and this is %d.%d", major, minor)
	}
	port := npmtest.FreePort(t)
	npmtest.Start(t, regexp.MustCompile("listening on"), []string{"AIMOCK_API_KEYS=" + secret}, node, script,
		"--port", port, "--host", "127.0.0.1", "--fixtures", "testdata/talk.json", "--chunk-size", "7", "--log-level", "info")
	return "http://127.0.0.1:" + port
}

// route is one way to a server.
type route struct {
	name   string
	spec   providers.Spec
	header http.Header
}

func ask(prompt string) providers.Request {
	return providers.Request{Messages: []providers.Message{{Role: providers.System, Text: "You are polite."}, {Role: providers.User, Text: prompt}}, MaxTokens: 500}
}

var weather = providers.Tool{
	Name: "weather", Description: "Tells the weather.",
	Input: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}},"required":["place"],"additionalProperties":false}`),
}

// One server that speaks all formats, and a gateway in front of it.
func TestServers(t *testing.T) {
	mock := aimock(t)
	node, script := programs.Script(t, "@portkey-ai", "gateway", "build", "start-server.js")
	port := npmtest.FreePort(t)
	npmtest.Start(t, regexp.MustCompile("Ready for connections"), nil, node, script, "--port="+port, "--headless")
	gateway := "http://127.0.0.1:" + port + "/v1"
	through := func(vendor string) http.Header {
		return http.Header{"X-Portkey-Provider": {vendor}, "X-Portkey-Custom-Host": {mock + "/v1"}}
	}
	for _, r := range []route{
		{"chat", providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: mock + "/v1"}, nil},
		{"responses", providers.Spec{Provider: "openai", Model: "gpt-5", BaseURL: mock + "/v1", API: "responses"}, nil},
		{"azure", providers.Spec{Provider: "azure", Model: "gpt-4o", BaseURL: mock, APIVersion: "2024-10-21"}, nil},
		{"compatible", providers.Spec{Provider: "corp", Model: "small", BaseURL: mock + "/v1"}, nil},
		{"anthropic", providers.Spec{Provider: "anthropic", Model: "claude-opus-4-8", BaseURL: mock + "/v1"}, nil},
		{"chat through a gateway", providers.Spec{Provider: "corp", Model: "gpt-4o", BaseURL: gateway}, through("openai")},
		{"anthropic through a gateway", providers.Spec{Provider: "anthropic", Model: "claude-opus-4-8", BaseURL: gateway}, through("anthropic")},
	} {
		t.Run(r.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			streams(ctx, t, r)
			loops(ctx, t, r)
			failures(ctx, t, r)
		})
	}
	t.Run("chaos", func(t *testing.T) { chaos(t, mock) })
}

// streams wants a text in pieces, and one in the form of a schema.
func streams(ctx context.Context, t *testing.T, r route) {
	t.Helper()
	m := open(t, r.spec, r.header)
	var chunks []string
	req := ask("Say hello.")
	req.OnText = func(chunk string) error {
		chunks = append(chunks, chunk)
		return nil
	}
	resp, err := m.Generate(ctx, req)
	require.NoError(t, err)
	assert.Equal(t, "Hello! How can I help you today?", resp.Text)
	assert.Equal(t, resp.Text, strings.Join(chunks, ""))
	assert.Greater(t, len(chunks), 1, "it comes in pieces")
	assert.Equal(t, providers.StopEnd, resp.Stop)

	typed := ask("Say it as JSON.")
	typed.Output = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`)
	resp, err = m.Generate(ctx, typed)
	require.NoError(t, err)
	assert.JSONEq(t, `{"text":"hello"}`, resp.Text)
}

// loops has two tools called at once, and shows what they returned.
func loops(ctx context.Context, t *testing.T, r route) {
	t.Helper()
	m := open(t, r.spec, r.header)
	req := ask("What is the weather in Oslo and Rome?")
	req.Tools = []providers.Tool{weather}
	resp, err := m.Generate(ctx, req)
	require.NoError(t, err)
	assert.Equal(t, "Let me see.", resp.Text)
	assert.Equal(t, providers.StopTools, resp.Stop)
	require.Len(t, resp.ToolCalls, 2)
	req.Messages = append(req.Messages, providers.Message{Role: providers.Assistant, Text: resp.Text, ToolCalls: resp.ToolCalls})
	for i, place := range []string{"Oslo", "Rome"} {
		call := resp.ToolCalls[i]
		assert.Equal(t, "weather", call.Name)
		assert.JSONEq(t, `{"place":"`+place+`"}`, string(call.Input))
		req.Messages = append(req.Messages, providers.Message{Role: providers.ToolRole, ToolID: call.ID, Text: "fine"})
	}
	assert.NotEqual(t, resp.ToolCalls[0].ID, resp.ToolCalls[1].ID)
	resp, err = m.Generate(ctx, req)
	require.NoError(t, err)
	assert.Equal(t, "It rains in Oslo, and the sun shines in Rome.", resp.Text)
}

// failures requires distinct refusals, also through a gateway.
func failures(ctx context.Context, t *testing.T, r route) {
	t.Helper()
	_, err := open(t, r.spec, r.header).Generate(ctx, ask("You are too fast."))
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.RateLimited, e.Kind, e)
	assert.Equal(t, 7*time.Second, e.RetryAfter)
	assert.Contains(t, e.Message, "Rate limit reached")

	good := keys
	keys = providers.Keys{"openai": "wrong-key", "azure": "wrong-key", "corp": "wrong-key", "anthropic": "wrong-key"}
	m := open(t, r.spec, r.header)
	keys = good
	_, err = m.Generate(ctx, ask("Say hello."))
	require.ErrorIs(t, err, providers.Unauthorized)
	assert.NotContains(t, err.Error(), "wrong-key")
}

// chaos makes the server fail in its own ways.
func chaos(t *testing.T, mock string) {
	t.Helper()
	for _, tt := range []struct {
		name, rates string
		kind        providers.Kind
	}{
		{"it drops requests", `{"dropRate":1}`, providers.Transient},
		{"it writes no JSON", `{"malformedRate":1}`, providers.Transient},
		{"it hangs up", `{"disconnectRate":1}`, providers.Transient},
		{"it limits", `{"rateLimitRate":1}`, providers.RateLimited},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []route{
				{"chat", providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: mock + "/v1"}, nil},
				{"responses", providers.Spec{Provider: "openai", Model: "gpt-5", BaseURL: mock + "/v1", API: "responses"}, nil},
				{"anthropic", providers.Spec{Provider: "anthropic", Model: "claude-opus-4-8", BaseURL: mock + "/v1"}, nil},
			} {
				mine := http.Header{"X-Test-Id": {t.Name() + r.name}}
				set, err := http.NewRequestWithContext(t.Context(), http.MethodPost, mock+"/__aimock/chaos", bytes.NewReader([]byte(tt.rates)))
				require.NoError(t, err)
				set.Header = http.Header{"X-Test-Id": mine["X-Test-Id"], "Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}}
				resp, err := http.DefaultClient.Do(set)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, http.StatusOK, resp.StatusCode)
				_, err = open(t, r.spec, mine).Generate(t.Context(), ask("Say hello."))
				assert.ErrorIs(t, err, tt.kind, r.name)
			}
		})
	}
}

// A server of another author: it counts more cached tokens than there are, and continues
// after the end.
func TestMockOpenAIAPI(t *testing.T) {
	node, script := programs.Script(t, "mock-openai-api", "dist", "cli.js")
	port := npmtest.FreePort(t)
	npmtest.Start(t, regexp.MustCompile("started successfully"), nil, node, script, "-p", port, "-H", "127.0.0.1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := open(t, providers.Spec{Provider: "corp", Model: "gpt-4-mock", BaseURL: "http://127.0.0.1:" + port + "/v1"}, nil)
	req := ask("1")
	req.Tools = []providers.Tool{{Name: "get_time"}}
	resp, err := m.Generate(ctx, req)
	require.NoError(t, err)
	assert.Empty(t, resp.Text)
	require.Len(t, resp.ToolCalls, 1)
	assert.Equal(t, "get_time", resp.ToolCalls[0].Name)
	assert.JSONEq(t, `{}`, string(resp.ToolCalls[0].Input))
	assert.Equal(t, providers.StopTools, resp.Stop)
	assert.Positive(t, resp.Usage.Output)
}
