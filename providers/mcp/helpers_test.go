package mcp_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/mcp"
)

// host is an MCP server in this process, with a session for each connection.
type host struct {
	*sdk.Server
	mu    sync.Mutex
	pipes []net.Conn
}

func newHost(o *sdk.ServerOptions) *host {
	return &host{Server: sdk.NewServer(&sdk.Implementation{Name: "host", Version: "1"}, o)}
}

// Dial implements mcp.Dialer.
func (h *host) Dial(ctx context.Context) (sdk.Transport, error) {
	there, here := net.Pipe()
	if _, err := h.Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: there, Writer: there, MaxLineLength: -1}, nil); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pipes = append(h.pipes, there)
	return &sdk.IOTransport{Reader: here, Writer: here}, nil
}

// dials is the number of connections.
func (h *host) dials() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pipes)
}

// die ends the newest connection as a crash would.
func (h *host) die() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.pipes[len(h.pipes)-1].Close()
}

// add adds a tool that takes anything.
func (h *host) add(name string, call sdk.ToolHandler) {
	h.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, call)
}

// says is a tool that has one result.
func says(parts ...sdk.Content) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: parts}, nil
	}
}

// open connects to d until the test ends.
func open(t *testing.T, d mcp.Dialer) *mcp.Server {
	t.Helper()
	s, err := mcp.Open(t.Context(), d)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// all are the tools of s by name.
func all(t *testing.T, s *mcp.Server) map[string]agent.Tool {
	t.Helper()
	tools, err := s.Tools(t.Context(), mcp.Choice{})
	require.NoError(t, err)
	byName := map[string]agent.Tool{}
	for _, tool := range tools {
		byName[tool.Name] = tool
	}
	return byName
}
