package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/mcp"
)

func TestTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(&sdk.ServerOptions{PageSize: 2})
		schema := `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
		for _, name := range []string{"a", "b", "c", "d"} {
			h.add(name, says())
		}
		h.AddTool(&sdk.Tool{Name: "weather", Description: "tells the weather", InputSchema: json.RawMessage(schema), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, says())
		h.AddTool(&sdk.Tool{Name: "titled", Title: "Has a title", InputSchema: json.RawMessage(schema)}, says())
		s := open(t, h)

		tools := all(t, s)
		assert.Len(t, tools, 6, "of all pages")
		assert.Equal(t, "tells the weather", tools["weather"].Description)
		assert.JSONEq(t, schema, string(tools["weather"].Input))
		assert.Equal(t, "Has a title", tools["titled"].Description)

		some, err := s.Tools(t.Context(), mcp.Choice{
			Prefix: "acme_", Keep: func(t *sdk.Tool) bool { return t.Annotations != nil && t.Annotations.ReadOnlyHint },
		})
		require.NoError(t, err)
		require.Len(t, some, 1)
		assert.Equal(t, "acme_weather", some[0].Name)
		_, err = s.Tools(t.Context(), mcp.Choice{Prefix: "acme."})
		assert.ErrorContains(t, err, `Choice.Prefix is "acme."`)
		_, err = s.Tools(t.Context(), mcp.Choice{Prefix: strings.Repeat("x", 33)})
		assert.ErrorContains(t, err, "at most 32")
	})
}

// listing has the server answer tools/list with what page returns.
func listing(h *host, page func() *sdk.ListToolsResult) {
	h.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "tools/list" {
				return page(), nil
			}
			return next(ctx, method, req)
		}
	})
}

func TestNamesThatVendorsDoNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		long := strings.Repeat("x", 70)
		var listed []*sdk.Tool
		for _, name := range []string{"files.read", "files_read", "größe/maß", long, ""} {
			listed = append(listed, &sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}})
		}
		listing(h, func() *sdk.ListToolsResult { return &sdk.ListToolsResult{Tools: listed} })
		tools, err := open(t, h).Tools(t.Context(), mcp.Choice{Prefix: "p_"})
		require.NoError(t, err)
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		assert.Equal(t, []string{
			"p_files_read", "p_files_read_50a21da8", "p_gr__e_ma_", // hashes by sha256sum
			"p_" + strings.Repeat("x", 53) + "_c71bd109", "p__e3b0c442",
		}, names)
		_, err = agent.LLM{Model: fake.New(t, fake.Text("fine")), Tools: tools}.Call(t.Context(), agent.Request{Prompt: "x"})
		assert.NoError(t, err, "an LLM takes them")
	})
}

func TestListsThatAreRefused(t *testing.T) {
	object := map[string]any{"type": "object"}
	many := &sdk.ListToolsResult{}
	for i := range 1001 {
		many.Tools = append(many.Tools, &sdk.Tool{Name: fmt.Sprint("t", i), InputSchema: object})
	}
	one := func(t *sdk.Tool) *sdk.ListToolsResult { return &sdk.ListToolsResult{Tools: []*sdk.Tool{t}} }
	tests := []struct {
		name string
		page *sdk.ListToolsResult
		says string
	}{
		{"without end", &sdk.ListToolsResult{NextCursor: "more"}, "more than 1000 tools or pages"},
		{"too many", many, "more than 1000 tools or pages"},
		{"too long", one(&sdk.Tool{Name: "t", Description: strings.Repeat("x", 64<<10), InputSchema: object}), `tool "t" of the server: its description and schema have 65553 bytes, want at most 65536`},
		{"twice", &sdk.ListToolsResult{Tools: []*sdk.Tool{{Name: "t", InputSchema: object}, {Name: "t", InputSchema: object}}}, `two tools of the name "t"`},
		{"no schema", one(&sdk.Tool{Name: "t", InputSchema: "text"}), `tool "t" of the server: its schema is not a JSON object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(nil)
				listing(h, func() *sdk.ListToolsResult { return tt.page })
				_, err := open(t, h).Tools(t.Context(), mcp.Choice{})
				assert.ErrorContains(t, err, tt.says)
			})
		})
	}
}

func TestResults(t *testing.T) {
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s} }
	type result = sdk.CallToolResult
	tests := []struct {
		name string
		give result
		want string
		err  string
	}{
		{"text", result{Content: []sdk.Content{text("one"), text("two")}}, "one\ntwo", ""},
		{"nothing", result{Content: []sdk.Content{}}, "", ""},
		{"an image", result{Content: []sdk.Content{text("a cat:"), &sdk.ImageContent{MIMEType: "image/png", Data: []byte("12345")}}}, "a cat:\n[image, image/png, 5 bytes: not shown]", ""},
		{"a sound", result{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("123")}}}, "[sound, audio/wav, 3 bytes: not shown]", ""},
		{"a link", result{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///a.txt", Name: "a", MIMEType: "text/plain"}}}, "[link to a resource: file:///a.txt, a, text/plain]", ""},
		{"a text file", result{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a.txt", Text: "hello"}}}}, "[resource file:///a.txt]\nhello", ""},
		{"another file", result{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a.zip", MIMEType: "application/zip", Blob: []byte("12")}}}}, "[resource file:///a.zip, application/zip, 2 bytes: not shown]", ""},
		{"structured content", result{Content: []sdk.Content{}, StructuredContent: map[string]any{"b": 1, "a": "x"}}, `{"a":"x","b":1}`, ""},
		{"structured content beside words", result{Content: []sdk.Content{text("it is 5")}, StructuredContent: map[string]any{"n": 5}}, "it is 5", ""},
		{"a summary of structured content", result{Content: []sdk.Content{text("3 rows")}, StructuredContent: map[string]any{"rows": strings.Repeat("x", 100)}}, `{"rows":"` + strings.Repeat("x", 100) + `"}`, ""},
		{"a file in both", result{Content: []sdk.Content{text(strings.Repeat("y", 500))}, StructuredContent: map[string]any{"content": strings.Repeat("y", 500)}}, strings.Repeat("y", 500), ""},
		{"structured content that is there as text", result{Content: []sdk.Content{text(`{ "n": 5 }`)}, StructuredContent: map[string]any{"n": 5}}, `{ "n": 5 }`, ""},
		{"an error", result{Content: []sdk.Content{text("no such file")}, IsError: true}, "", "no such file"},
		{"an error without words", result{Content: []sdk.Content{}, IsError: true}, "", "the tool failed and did not say why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(nil)
				h.add("give", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return &tt.give, nil })
				got, err := all(t, open(t, h))["give"].Call(t.Context(), json.RawMessage(`{}`))
				assert.Equal(t, tt.want, got)
				if tt.err == "" {
					assert.NoError(t, err)
				} else {
					assert.EqualError(t, err, tt.err)
				}
			})
		})
	}
}

// A model sees an image that a tool returns.
func TestImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("shoot", says(&sdk.TextContent{Text: "a cat:"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}))
		tools, err := open(t, h).Tools(t.Context(), mcp.Choice{})
		require.NoError(t, err)
		m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{{ID: "c", Name: "shoot"}}}, fake.Answer{Text: "cute"})
		_, err = agent.LLM{Model: m, Tools: tools}.Call(t.Context(), agent.Request{Prompt: "look"})
		require.NoError(t, err)
		asked := m.Requests()[1].Messages
		assert.Equal(t, "a cat:\n[image, image/png: shown]", asked[len(asked)-1].Text)
		assert.Equal(t, []providers.Part{{Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")}}, asked[len(asked)-1].Parts)
	})
}

func TestServerGetsTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("echo", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
		got, err := all(t, open(t, h))["echo"].Call(t.Context(), json.RawMessage(`{"big":12345678901234567890,"a":"<b>"}`))
		require.NoError(t, err)
		assert.JSONEq(t, `{"big":12345678901234567890,"a":"<b>"}`, got)
		assert.Contains(t, got, "12345678901234567890", "no digit is lost")
	})
}

func TestErrorsOfTheProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.New("out of paper")
		})
		s := open(t, h)
		tools := all(t, s)
		_, err := tools["fail"].Call(t.Context(), json.RawMessage(`{}`))
		require.ErrorContains(t, err, `mcp: tool "fail": `)
		require.ErrorContains(t, err, "out of paper")
		assert.NotErrorIs(t, err, mcp.ErrGone)

		h.RemoveTools("fail")
		_, err = tools["fail"].Call(t.Context(), json.RawMessage(`{}`))
		assert.ErrorContains(t, err, "unknown tool", "one that the server has no more")
		assert.Equal(t, 1, h.dials(), "the connection is still good")
	})
}

func TestCancelReachesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		told := make(chan struct{})
		h.add("hang", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-ctx.Done()
			close(told)
			return nil, ctx.Err()
		})
		h.add("work", says(&sdk.TextContent{Text: "fine"}))
		tools := all(t, open(t, h))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		_, err := tools["hang"].Call(ctx, json.RawMessage(`{}`))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(begun))
		<-told
		got, err := tools["work"].Call(t.Context(), json.RawMessage(`{}`))
		require.NoError(t, err)
		assert.Equal(t, "fine", got, "over the same connection")
		assert.Equal(t, 1, h.dials())
	})
}

// watcher keeps what it is told.
type watcher struct {
	mu   sync.Mutex
	told []agent.Progress
}

func (*watcher) Watching() bool { return true }

func (w *watcher) Report(p agent.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, p)
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("work", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			token := r.Params.GetProgressToken()
			if token == nil {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "no watcher"}}}, nil
			}
			for _, p := range []sdk.ProgressNotificationParams{
				{ProgressToken: token, Progress: 0.5}, {ProgressToken: token, Progress: 1, Total: 3, Message: "reading"}, {ProgressToken: "other", Progress: 9},
			} {
				if err := r.Session.NotifyProgress(ctx, &p); err != nil {
					return nil, err
				}
			}
			synctest.Wait()
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
		})
		tool := all(t, open(t, h))["work"]
		got, err := tool.Call(t.Context(), json.RawMessage(`{}`))
		require.NoError(t, err)
		assert.Equal(t, "no watcher", got)

		w := &watcher{}
		ctx := agent.WithInfo(t.Context(), agent.Info{Agent: "ann", Key: "run/0/c1", Attempt: 1, Watcher: w})
		got, err = tool.Call(ctx, json.RawMessage(`{"n":1}`))
		require.NoError(t, err)
		assert.Equal(t, "done", got)
		step := func(text string) agent.Progress {
			return agent.Progress{
				Agent: "ann", Key: "run/0/c1", Attempt: 1, Kind: agent.ProgressStep, Text: text,
				Tool: &providers.ToolCall{Name: "work", Input: json.RawMessage(`{"n":1}`)},
			}
		}
		assert.Equal(t, []agent.Progress{step("0.5"), step("1 of 3: reading")}, w.told)
	})
}

// An agent with the tools of a server, from its prompt to its answer.
func TestAgentWithToolsOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		type in struct {
			City string `json:"city"`
		}
		sdk.AddTool(h.Server, &sdk.Tool{Name: "weather"}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
			if in.City == "Atlantis" {
				return nil, nil, errors.New("it has sunk")
			}
			return nil, map[string]any{"city": in.City, "degrees": 21}, nil
		})
		tools, err := open(t, h).Tools(t.Context(), mcp.Choice{Prefix: "acme_"})
		require.NoError(t, err)
		ask := func(id string, input string) providers.ToolCall {
			return providers.ToolCall{ID: id, Name: "acme_weather", Input: json.RawMessage(input)}
		}
		m := fake.New(t,
			fake.Answer{ToolCalls: []providers.ToolCall{ask("a", `{"city":"Oslo"}`), ask("b", `{"city":"Atlantis"}`), ask("c", `{"town":"Oslo"}`)}},
			fake.Text("21 degrees in Oslo"),
		)
		resp, err := agent.LLM{Model: m, Tools: tools}.Call(t.Context(), agent.Request{Prompt: "How warm is it?"})
		require.NoError(t, err)
		assert.Equal(t, "21 degrees in Oslo", resp.Text)
		var results []string
		for _, said := range resp.Messages[1:4] {
			results = append(results, said.ToolID+" "+said.Text)
		}
		assert.Equal(t, `a {"city":"Oslo","degrees":21}`, results[0])
		assert.Equal(t, "b error: it has sunk", results[1])
		assert.True(t, strings.HasPrefix(results[2], `c error: the input does not fit: `), results[2])
	})
}

// A recorded loop with the tools of a server is played when the server is gone.
func TestPlayedWithoutTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop.jsonl")
	run := func(live func() ([]agent.Tool, error), m providers.Model) string {
		tape, err := cassette.Open(path, cassette.RecordIfMissing, cassette.Options{})
		require.NoError(t, err)
		tools, err := agent.TapeTools(tape, "weather", live)
		require.NoError(t, err)
		resp, err := agent.LLM{Model: tape.Model("m", m), Tools: tools}.Call(t.Context(), agent.Request{Prompt: "How is the weather?"})
		require.NoError(t, err)
		require.NoError(t, tape.Close())
		return resp.Messages[1].Text
	}
	h := newHost(nil)
	h.add("weather", says(&sdk.TextContent{Text: "rain"}))
	s := open(t, h)
	m := fake.New(t, fake.Call("a", "weather", struct{}{}), fake.Text("It rains."))
	assert.Equal(t, "rain", run(func() ([]agent.Tool, error) { return s.Tools(t.Context(), mcp.Choice{}) }, m))
	require.NoError(t, s.Close())
	assert.Equal(t, "rain", run(func() ([]agent.Tool, error) { return nil, errors.New("there is no server") }, nil))
}
