package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/mcp"
)

// TestMain is also the program that the tests of Command start.
func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), "BE_A_SERVER=yes") {
		program()
		return
	}
	m.Run()
	everything.Remove()
}

// program is an MCP server on standard input and output.
func program() {
	h := newHost(nil)
	h.add("env", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil
	})
	h.add("pid", says(&sdk.TextContent{Text: fmt.Sprint(os.Getpid())}))
	h.add("die", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { panic("I die") })
	if err := h.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		panic(err)
	}
	if slices.Contains(os.Environ(), "STAY=yes") {
		<-time.After(time.Hour)
	}
}

func self() mcp.Command {
	return mcp.Command{Args: []string{os.Args[0]}, Env: []string{"BE_A_SERVER=yes", "ACME_API_KEY=hunter22"}}
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestCommand(t *testing.T) {
	cmd := self()
	log := &buffer{}
	cmd.Stderr = log
	s := open(t, cmd)
	tools := all(t, s)
	call := func(name string) (string, error) { return tools[name].Call(t.Context(), json.RawMessage(`{}`)) }

	env, err := call("env")
	require.NoError(t, err)
	assert.Equal(t, "BE_A_SERVER=yes\nACME_API_KEY=hunter22", env, "nothing of the host's")

	first, err := call("pid")
	require.NoError(t, err)
	_, err = call("die")
	require.ErrorIs(t, err, mcp.ErrGone)
	second, err := call("pid")
	require.NoError(t, err)
	assert.NotEqual(t, first, second, "it is started again")
	require.NoError(t, s.Close())
	assert.Contains(t, log.String(), "I die")
	for _, pid := range []string{first, second} {
		_, err := os.Stat("/proc/" + pid)
		assert.True(t, os.IsNotExist(err) || !procExists(), "program %s still runs, or is not waited for", pid)
	}
}

func procExists() bool {
	_, err := os.Stat("/proc/self")
	return err == nil
}

func TestCommandsThatDoNotStart(t *testing.T) {
	tests := []struct {
		name string
		cmd  mcp.Command
		says string
	}{
		{"none", mcp.Command{}, "Command.Args is empty"},
		{"unknown", mcp.Command{Args: []string{"no-such-program-anywhere"}}, "no-such-program-anywhere"},
		{"one that is no server", mcp.Command{Args: []string{os.Args[0], "-test.run=^$"}, Env: []string{"HOME=/"}}, "mcp: connect: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mcp.Open(t.Context(), tt.cmd)
			require.ErrorContains(t, err, tt.says)
			assert.True(t, strings.HasPrefix(err.Error(), "mcp: connect: "), err.Error())
		})
	}
}

// A program that does not end by itself is made to.
func TestCommandThatDoesNotEnd(t *testing.T) {
	log := &buffer{}
	sh := mcp.Command{
		Args: []string{"/bin/sh", "-c", "trap '' TERM; echo $$ >&2; while :; do read x || sleep 1; done"},
		Env:  []string{"PATH=/usr/bin:/bin"}, Stderr: log,
	}
	if _, err := os.Stat(sh.Args[0]); err != nil {
		t.Skip("there is no /bin/sh")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := mcp.Open(ctx, sh)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	pid := strings.TrimSpace(log.String())
	require.NotEmpty(t, pid, "it was started")
	_, err = os.Stat("/proc/" + pid)
	assert.True(t, os.IsNotExist(err) || !procExists(), "program %s still runs", pid)
}

func TestCommandThatIsTerminated(t *testing.T) {
	cmd := self()
	cmd.Env = append(cmd.Env, "STAY=yes")
	s := open(t, cmd)
	pid, err := all(t, s)["pid"].Call(t.Context(), json.RawMessage(`{}`))
	require.NoError(t, err)
	require.NoError(t, s.Close(), "how it ends is no failure")
	_, err = os.Stat("/proc/" + pid)
	assert.True(t, os.IsNotExist(err) || !procExists(), "program %s still runs", pid)
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Run("of a Command", func(t *testing.T) {
		cmd := self()
		s := open(t, cmd)
		for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", cmd, cmd, cmd, cmd), fmt.Sprintf("%v %+v %#v", s, s, s)} {
			assert.NotContains(t, text, "hunter22")
		}
		assert.Contains(t, cmd.String(), os.Args[0])
	})
	t.Run("in what a server says of itself", func(t *testing.T) {
		cmd := self()
		h := newHost(nil)
		h.add("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "the key hunter22 is refused"}}}, nil
		})
		_, err := all(t, open(t, known{h, cmd}))["fail"].Call(t.Context(), json.RawMessage(`{}`))
		assert.EqualError(t, err, "the key [redacted] is refused")
	})
	t.Run("of a Command that fails", func(t *testing.T) {
		cmd := self()
		cmd.Args = []string{"no-hunter22-anywhere"}
		_, err := mcp.Open(t.Context(), cmd)
		require.Error(t, err)
		assert.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, agent.ErrorOf(err)), "hunter22")
	})
}

// known dials a host, and knows the secrets of a Command.
type known struct {
	h *host
	mcp.Command
}

func (k known) Dial(ctx context.Context) (sdk.Transport, error) { return k.h.Dial(ctx) }
