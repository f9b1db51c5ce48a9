package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/fake"
)

// server has a tool that answers differently each time.
type server struct{ calls, opened int }

func (s *server) tools() ([]agent.Tool, error) {
	s.opened++
	return []agent.Tool{{
		Tool: providers.Tool{Name: "draw", Description: "Draws a card.", Input: json.RawMessage(`{"type":"object","properties":{"from":{"type":"string"}}}`)},
		Call: func(_ context.Context, input json.RawMessage) (string, error) {
			s.calls++
			if strings.Contains(string(input), "empty") {
				return "", errors.New("no card is left")
			}
			return []string{"ace", "king", "queen"}[s.calls-1], nil
		},
	}}, nil
}

func draw(id, from string) providers.ToolCall {
	return providers.ToolCall{ID: id, Name: "draw", Input: agent.JSON(map[string]string{"from": from})}
}

// A loop of tools is played without the server that has them.
func TestToolsArePlayed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "team.jsonl")
	s := &server{}
	run := func(live func() ([]agent.Tool, error), m providers.Model) (agent.Response, error) {
		tape, err := cassette.Open(path, cassette.RecordIfMissing, cassette.Options{})
		require.NoError(t, err)
		tools, err := agent.TapeTools(tape, "cards", live)
		require.NoError(t, err)
		resp, err := agent.LLM{Model: tape.Model("m", m), Tools: tools}.Call(t.Context(), agent.Request{Prompt: "play"})
		return resp, errors.Join(err, tape.Close())
	}
	m := fake.New(t,
		fake.Answer{ToolCalls: []providers.ToolCall{draw("a", "deck")}},
		fake.Answer{ToolCalls: []providers.ToolCall{draw("b", "deck")}},
		fake.Answer{ToolCalls: []providers.ToolCall{draw("c", "empty")}},
		fake.Text("done"))
	recorded, err := run(s.tools, m)
	require.NoError(t, err)
	assert.Equal(t, []string{"ace", "king", "error: no card is left"}, []string{recorded.Messages[1].Text, recorded.Messages[3].Text, recorded.Messages[5].Text})

	played, err := run(func() ([]agent.Tool, error) { panic("the server is not there") }, nil)
	require.NoError(t, err)
	assert.Equal(t, recorded.Text, played.Text)
	assert.Equal(t, recorded.Messages, played.Messages)
	assert.Equal(t, 1, s.opened)

	tape, err := cassette.Open(path, cassette.PlayOnly, cassette.Options{})
	require.NoError(t, err)
	for _, want := range []string{"ace", "king", "king"} { // the last one again and again
		got, err := tape.ToolResult("draw", json.RawMessage(` { "from" : "deck" } `))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err = tape.ToolResult("draw", json.RawMessage(`{"from":"sleeve"}`))
	require.ErrorIs(t, err, cassette.ErrMiss)
	require.ErrorContains(t, err, `no answer of tool "draw" to {"from":"sleeve"}`)
	_, err = tape.Tools("dice", nil)
	require.ErrorContains(t, err, `has no tools under the name "dice"`)
	require.ErrorIs(t, tape.Close(), cassette.ErrMiss)
}

// Where each turn was asked of two models, its results are there twice and count once.
func TestToolsOfAChainArePlayed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "team.jsonl")
	run := func(s *server, first, second providers.Model) []string {
		tape, err := cassette.Open(path, cassette.RecordIfMissing, cassette.Options{})
		require.NoError(t, err)
		chain, err := providers.NewChain(tape.Model("first", first), tape.Model("second", second))
		require.NoError(t, err)
		chain.FallbackOn = []providers.Reason{providers.Overloaded}
		tools, err := agent.TapeTools(tape, "cards", s.tools)
		require.NoError(t, err)
		resp, err := agent.LLM{Model: chain, Tools: tools}.Call(t.Context(), agent.Request{Prompt: "play"})
		require.NoError(t, err)
		require.NoError(t, tape.Close())
		return []string{resp.Messages[1].Text, resp.Messages[3].Text}
	}
	busy := fake.New(nil)
	busy.When(fake.Rule{Answer: fake.Answer{Err: &providers.Error{Kind: providers.Transient, Reason: providers.Overloaded}}})
	second := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{draw("a", "deck")}}, fake.Answer{ToolCalls: []providers.ToolCall{draw("b", "deck")}}, fake.Text("done"))
	assert.Equal(t, []string{"ace", "king"}, run(&server{}, busy, second))
	assert.Equal(t, []string{"ace", "king"}, run(nil, nil, nil), "played")
}

// Cassettes of the first version have tools in full in their requests.
func TestTheFirstVersionIsPlayed(t *testing.T) {
	const first = `{"v":1,"key":"k","model":"m","req":{"messages":[{"role":"user","text":"hi"}],"tools":[{"description":"Old words.","input":{"type":"object","properties":{}},"name":"f"}]},` +
		`"resp":{"text":"hello","stop":"end","usage":{}}}` + "\n"
	path := filepath.Join(t.TempDir(), "old.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(first), 0o600))
	player, err := cassette.Play(path, cassette.Options{})
	require.NoError(t, err)
	req := user("hi")
	req.Tools = []providers.Tool{{Name: "f", Description: "New words.", Input: json.RawMessage(`{"properties":{},"type":"object"}`)}}
	resp, err := player.Model("m").Generate(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, "hello", resp.Text)
	req.Tools[0].Input = json.RawMessage(`{"type":"object"}`)
	_, err = player.Model("m").Generate(t.Context(), req)
	require.ErrorIs(t, err, cassette.ErrMiss)
	require.ErrorContains(t, err, "line 1 (tools[0].schema was")
}

// Keys are taken out of tools, too.
func TestToolsHoldNoKeys(t *testing.T) {
	const key = "sk-of-the-server-0123456789"
	path := filepath.Join(t.TempDir(), "team.jsonl")
	tape, err := cassette.Open(path, cassette.RecordAnew, cassette.Options{Secrets: []string{key}})
	require.NoError(t, err)
	_, err = tape.Tools("all", []providers.Tool{{Name: "f", Description: "Uses " + key, Input: json.RawMessage(`{"default":"` + key + `"}`)}})
	require.NoError(t, err)
	_, err = tape.ToolResult("f", nil)
	require.ErrorContains(t, err, "the tape records")
	require.NoError(t, tape.Close())
	assert.NotContains(t, read(t, path), key)
}
