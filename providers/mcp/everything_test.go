package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/mcp"
)

// everything is the reference server of the protocol, installed once with npm in
// the versions of testdata/everything.
var everything = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "everything")
	if err != nil {
		return "", err
	}
	installed = dir
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "everything", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	return filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"), nil
})

// installed is the folder to remove when the tests have ended.
var installed string

// reference is the program of the reference server. Where it cannot be had, the
// test is skipped, but in CI only where there is no npm.
func reference(t *testing.T) (node, script string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the reference server is left out of short tests")
	}
	node, err := exec.LookPath("node")
	_, errNPM := exec.LookPath("npm")
	if err := errors.Join(err, errNPM); err != nil {
		t.Skipf("the reference server needs Node.js and npm, on Debian the packages nodejs and npm: %v", err)
	}
	script, err = everything()
	switch {
	case err != nil && slices.Contains(os.Environ(), "CI=true"):
		t.Fatalf("install the reference server: %v", err)
	case err != nil:
		t.Skipf("the reference server cannot be installed; npm needs its registry, or has it in its cache after: cd providers/mcp/testdata/everything && npm ci --ignore-scripts\n%v", err)
	}
	return node, script
}

// overHTTP starts the reference server and returns its port, and what ends it.
func overHTTP(t *testing.T, port string) (stop func()) {
	t.Helper()
	node, script := reference(t)
	cmd := exec.CommandContext(t.Context(), node, script, "streamableHttp")
	cmd.Env = minimal("PORT=" + port)
	if version, err := exec.CommandContext(t.Context(), node, "--version").Output(); err == nil && strings.HasPrefix(string(version), "v18.") {
		cmd.Env = append(cmd.Env, "NODE_OPTIONS=--experimental-global-webcrypto")
	}
	log := &listening{up: make(chan struct{})}
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	var once sync.Once
	stop = func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
	t.Cleanup(stop)
	select {
	case <-log.up:
	case <-time.After(time.Minute):
		require.Fail(t, "the reference server does not listen", log.String())
	}
	return stop
}

// minimal is an environment with what Node.js may need, and more.
func minimal(more ...string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return !strings.HasPrefix(e, "PATH=") && !strings.HasPrefix(e, "HOME=")
	}), more...)
}

// listening is a log that tells when a server is up.
type listening struct {
	buffer
	once sync.Once
	up   chan struct{}
}

func (l *listening) Write(p []byte) (int, error) {
	n, err := l.buffer.Write(p)
	if strings.Contains(l.String(), "listening on port") {
		l.once.Do(func() { close(l.up) })
	}
	return n, err
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func TestReferenceServer(t *testing.T) {
	t.Run("over stdio", func(t *testing.T) {
		node, script := reference(t)
		t.Setenv("ACME_KEY", "of the host")
		talk(t, mcp.Command{Args: []string{node, script, "stdio"}, Env: minimal("SHOWN=yes")})
	})
	t.Run("over HTTP", func(t *testing.T) {
		port := freePort(t)
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
	port := freePort(t)
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
