package mcp

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// steps are the tool calls with a watcher of their progress.
type steps struct {
	mu    sync.Mutex
	last  int
	calls map[string]func(text string) // receivers of texts, by token
}

// expect reports the progress of a call, until forget is called.
func (s *steps) expect(ctx context.Context, c providers.ToolCall) (token string, forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	token = strconv.Itoa(s.last)
	if s.calls == nil {
		s.calls = map[string]func(string){}
	}
	s.calls[token] = func(text string) {
		agent.Report(ctx, agent.Progress{Kind: agent.ProgressStep, Text: text, Tool: &c})
	}
	return token, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, token)
	}
}

// tell reports a progress message of the server.
func (s *steps) tell(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	p := r.Params
	text := strconv.FormatFloat(p.Progress, 'g', -1, 64)
	if p.Total > 0 {
		text += " of " + strconv.FormatFloat(p.Total, 'g', -1, 64)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	s.mu.Lock()
	defer s.mu.Unlock() // nothing is reported of a call that has returned
	if report := s.calls[fmt.Sprint(p.ProgressToken)]; report != nil {
		report(text)
	}
}
