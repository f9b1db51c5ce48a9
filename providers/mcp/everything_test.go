package mcp_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/npmtest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/mcp"
)

// everything is the reference server of the protocol.
var everything = npmtest.Programs{Folder: "testdata/everything"}

// reference is the program of the reference server.
func reference(t *testing.T) (node, script string) {
	t.Helper()
	return everything.Script(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
}

// overHTTP starts the reference server on a port, and returns what ends it.
func overHTTP(t *testing.T, port string) (stop func()) {
	t.Helper()
	node, script := reference(t)
	env := []string{"PORT=" + port}
	if major, _ := npmtest.Version(t, node); major == 18 {
		env = append(env, "NODE_OPTIONS=--experimental-global-webcrypto")
	}
	return npmtest.Start(t, regexp.MustCompile("listening on port"), env, node, script, "streamableHttp")
}

func TestReferenceServer(t *testing.T) {
	t.Run("over stdio", func(t *testing.T) {
		node, script := reference(t)
		t.Setenv("ACME_KEY", "of the host")
		talk(t, mcp.Command{Args: []string{node, script, "stdio"}, Env: npmtest.Env("SHOWN=yes")})
	})
	t.Run("over HTTP", func(t *testing.T) {
		port := npmtest.FreePort(t)
		overHTTP(t, port)
		talk(t, mcp.HTTP{URL: "http://localhost:" + port + "/mcp"})
	})
}

// talk uses the reference server as agents do.
func talk(t *testing.T, d mcp.Dialer) {
	t.Helper()
	s := open(t, d)
	tools := all(t, s)
	call := func(name, input string) (string, error) {
		require.Contains(t, tools, name)
		return tools[name].Call(t.Context(), json.RawMessage(input))
	}
	good := func(name, input string) string {
		got, err := call(name, input)
		require.NoError(t, err)
		return got
	}
	assert.Contains(t, tools["echo"].Description, "Echoes back")
	assert.Contains(t, string(tools["get-sum"].Input), `"required":["a","b"]`)
	assert.Equal(t, "Echo: hällo", good("echo", `{"message":"hällo"}`))
	assert.Equal(t, "The sum of 2 and 40 is 42.", good("get-sum", `{"a":2,"b":40}`))
	assert.JSONEq(t, `{"temperature":33,"conditions":"Cloudy","humidity":82}`, good("get-structured-content", `{"location":"New York"}`))
	assert.Regexp(t, `^Here's the image you requested:\n\[image, image/png, \d+ bytes: not shown\]\nThe image above is the MCP logo\.$`, good("get-tiny-image", `{}`))
	assert.Regexp(t, `\[link to a resource: demo://resource/\S+, Text Resource 2, text/plain, `, good("get-resource-links", `{"count":2}`))
	_, err := call("get-sum", `{"a":"two"}`)
	assert.ErrorContains(t, err, "Invalid arguments", "the server checks, too")
	if _, ok := d.(mcp.Command); ok {
		env := good("get-env", `{}`)
		assert.Contains(t, env, `"SHOWN": "yes"`)
		assert.NotContains(t, env, "ACME_KEY")
	}
	progressAndCancel(t, tools["trigger-long-running-operation"])
	asAgent(t, s)
	require.NoError(t, s.Close())
}

func progressAndCancel(t *testing.T, long agent.Tool) {
	t.Helper()
	w := &watcher{}
	ctx, cancel := context.WithCancel(agent.WithInfo(t.Context(), agent.Info{Watcher: w}))
	got, err := long.Call(ctx, json.RawMessage(`{"duration":0.4,"steps":4}`))
	require.NoError(t, err)
	assert.Contains(t, got, "Long running operation completed")
	var told []string
	for _, p := range w.told {
		told = append(told, p.Text)
	}
	assert.Subset(t, []string{"1 of 4", "2 of 4", "3 of 4", "4 of 4"}, told)
	assert.NotEmpty(t, told)
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = long.Call(ctx, json.RawMessage(`{"duration":600,"steps":1}`))
	assert.ErrorIs(t, err, context.Canceled)
}

// asAgent has a scripted model call the server's tools.
func asAgent(t *testing.T, s *mcp.Server) {
	t.Helper()
	tools, err := s.Tools(t.Context(), mcp.Choice{Prefix: "ref_"})
	require.NoError(t, err)
	sum := func(id, input string) providers.ToolCall {
		return providers.ToolCall{ID: id, Name: "ref_get-sum", Input: json.RawMessage(input)}
	}
	m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{sum("a", `{"a":1,"b":2}`), sum("b", `{"a":1}`), sum("c", `{"a":3,"b":4}`)}}, fake.Text("3 and 7"))
	resp, err := agent.LLM{Model: m, Tools: tools}.Call(t.Context(), agent.Request{Prompt: "Add up."})
	require.NoError(t, err)
	require.Len(t, resp.Messages, 4)
	assert.Equal(t, "The sum of 1 and 2 is 3.", resp.Messages[1].Text)
	assert.Contains(t, resp.Messages[2].Text, "error: the input does not fit: ")
	assert.Equal(t, "The sum of 3 and 4 is 7.", resp.Messages[3].Text)
}

// A service that is deployed anew has forgotten its sessions.
func TestReferenceServerIsRestarted(t *testing.T) {
	port := npmtest.FreePort(t)
	stop := overHTTP(t, port)
	echo := all(t, open(t, mcp.HTTP{URL: "http://localhost:" + port + "/mcp"}))["echo"]
	call := func() (string, error) { return echo.Call(t.Context(), json.RawMessage(`{"message":"hi"}`)) }
	stop()
	_, err := call()
	require.Error(t, err, "it is away")
	stop = overHTTP(t, port)
	if _, err = call(); err != nil { // it may not know the session
		_, err = call()
	}
	assert.NoError(t, err)
	stop()
}
