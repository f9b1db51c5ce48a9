package agent

import (
	"context"
	"encoding/json"

	"github.com/convene-go/convene/providers"
)

// Tape is what [TapeTools] needs of a cassette.Tape.
type Tape interface {
	Recording() bool
	Tools(name string, tools []providers.Tool) ([]providers.Tool, error)
	ToolResult(name string, input json.RawMessage) (string, error)
}

// TapeTools records the tools that live returns under a name, or returns those that were
// recorded under it, which answer as they did then. Only a tape that records calls
// live: so a test whose tools are those of an MCP server is played without it.
func TapeTools(tape Tape, name string, live func() ([]Tool, error)) ([]Tool, error) {
	if tape.Recording() {
		tools, err := live()
		if err != nil {
			return nil, err
		}
		var list []providers.Tool
		for _, t := range tools {
			list = append(list, t.Tool)
		}
		_, err = tape.Tools(name, list)
		return tools, err
	}
	list, err := tape.Tools(name, nil)
	var tools []Tool
	for _, t := range list {
		tools = append(tools, Tool{Tool: t, Call: func(_ context.Context, input json.RawMessage) (string, error) {
			return tape.ToolResult(t.Name, input)
		}})
	}
	return tools, err
}
