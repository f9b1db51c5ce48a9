package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// The bounds of a list of tools.
const (
	maxTools = 1000
	maxTool  = 64 << 10 // bytes of one tool's description and schema
	maxName  = 64       // bytes of a tool's name that vendors take
)

// Choice selects some of a server's tools. The zero Choice is all, under their own
// names.
type Choice struct {
	// Prefix is put before every name, so that the tools of several servers can be
	// told apart: "acme_". At most 32 letters, digits, underscores and dashes.
	Prefix string

	// Keep selects tools. Their Annotations are the server's own claims about what they
	// do. Nil: all tools.
	Keep func(t *sdk.Tool) bool
}

// Tools returns the server's tools. They keep working after a lost connection, while the
// server has them, until Close.
//
// Characters that vendors do not take in a name become underscores, and a name that is
// too long, or a duplicate, ends in a hash of the server's own. A tool's result is its
// text, or its structured content as JSON where that says more, with a note instead of a
// sound or a file. Images are shown to the model, see agent.Show. What the server marks
// as an error is one. Progress is an agent.ProgressStep; when a call's context is done,
// the server is notified.
//
// More than 1,000 tools, or more than 64 KiB of description and schema, are an
// error.
func (s *Server) Tools(ctx context.Context, c Choice) ([]agent.Tool, error) {
	if len(c.Prefix) > maxName/2 || plain(c.Prefix) != c.Prefix {
		return nil, fmt.Errorf("mcp: Choice.Prefix is %q, want at most %d letters, digits, underscores and dashes", c.Prefix, maxName/2)
	}
	listed, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var tools []agent.Tool
	seen, taken := map[string]bool{}, map[string]bool{}
	for _, t := range listed {
		if seen[t.Name] {
			return nil, fmt.Errorf("mcp: the server has two tools of the name %q", t.Name)
		}
		seen[t.Name] = true
		if c.Keep != nil && !c.Keep(t) {
			continue
		}
		name := nameOf(c.Prefix, t.Name, taken)
		taken[name] = true
		tool, err := s.tool(name, t)
		if err != nil {
			return nil, fmt.Errorf("mcp: tool %q of the server: %w", t.Name, err)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// list reads all pages of the server's list.
func (s *Server) list(ctx context.Context) ([]*sdk.Tool, error) {
	l, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	defer l.cutIfStuck(ctx)()
	var tools []*sdk.Tool
	cursor := ""
	for range maxTools { // a page may be empty
		page, err := l.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, s.failure(ctx, l, "list tools", err)
		}
		tools = append(tools, page.Tools...)
		if len(tools) > maxTools {
			break
		}
		if cursor = page.NextCursor; cursor == "" {
			return tools, nil
		}
	}
	return nil, fmt.Errorf("mcp: list tools: the list has more than %d tools or pages", maxTools)
}

// nameOf is the name of a tool for models.
func nameOf(prefix, own string, taken map[string]bool) string {
	name := prefix + plain(own)
	if len(name) > maxName || taken[name] || own == "" {
		hash := fmt.Sprintf("_%x", sha256.Sum256([]byte(own)))[:9]
		name = name[:min(len(name), maxName-len(hash))] + hash
	}
	return name
}

// plain is a name with underscores for characters that vendors do not take.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}

// tool converts a tool of the server for agents.
func (s *Server) tool(name string, t *sdk.Tool) (agent.Tool, error) {
	made := providers.Tool{Name: name, Description: t.Description}
	if made.Description == "" {
		made.Description = t.Title
	}
	if t.InputSchema != nil {
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return agent.Tool{}, fmt.Errorf("its schema: %w", err)
		}
		if schema[0] != '{' {
			return agent.Tool{}, errors.New("its schema is not a JSON object")
		}
		made.Input = schema
	}
	if n := len(made.Description) + len(made.Input); n > maxTool {
		return agent.Tool{}, fmt.Errorf("its description and schema have %d bytes, want at most %d", n, maxTool)
	}
	own := t.Name
	return agent.Tool{Tool: made, Call: func(ctx context.Context, input json.RawMessage) (string, error) {
		return s.call(ctx, own, providers.ToolCall{Name: name, Input: input})
	}}, nil
}

// call calls a tool of the server.
func (s *Server) call(ctx context.Context, own string, c providers.ToolCall) (string, error) {
	l, err := s.connected(ctx)
	if err != nil {
		return "", err
	}
	defer l.cutIfStuck(ctx)()
	params := &sdk.CallToolParams{Name: own, Arguments: c.Input}
	if agent.Watched(ctx) {
		token, forget := s.steps.expect(ctx, c)
		defer forget()
		params.SetProgressToken(token)
	}
	res, err := l.session.CallTool(ctx, params)
	if err != nil {
		return "", s.failure(ctx, l, fmt.Sprintf("tool %q", own), err)
	}
	text := textOf(ctx, res)
	switch {
	case res.IsError && text == "":
		return "", errors.New("the tool failed and did not say why")
	case res.IsError:
		return "", errors.New(s.redact.Clean(text))
	}
	return text, nil
}

// failure is the error of a failed request to the server. It ends a broken connection.
func (s *Server) failure(ctx context.Context, l *link, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mcp: %s: %w", what, ctx.Err())
	}
	_, answered := errors.AsType[*jsonrpc.Error](err) // err was said by the server, or by its HTTP status
	gone := !answered || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
	if gone && l.session.ID() == "" || l.session.ID() != "" && !l.known(ctx) {
		l.ended.Store(true)
		l.cut()
	}
	text := s.redact.Clean(err.Error())
	if gone {
		return fmt.Errorf("%w: %s: the connection to the server ended before the result: %s", ErrGone, what, text)
	}
	return fmt.Errorf("mcp: %s: %s", what, text)
}

// known tells whether the server still knows the session.
func (l *link) known(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	return l.session.Ping(ctx, nil) == nil
}
