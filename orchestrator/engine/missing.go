package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
)

// NoAgent returns the ErrNoAgent of a name that is not in roster. It names the agent that
// is most like it, if there is one.
func NoAgent(name string, roster agent.Roster) error { return noAgent(name, "", roster) }

// NoAgent is the function, and says what the flow wants the agent for.
func (p *Program) NoAgent(name string, roster agent.Roster) error {
	return noAgent(name, p.Roles[name], roster)
}

func noAgent(name, role string, roster agent.Roster) error {
	if role != "" {
		role = fmt.Sprintf(", which %s of the team wants", role)
	}
	if near := text.Nearest(name, slices.Sorted(maps.Keys(roster))); near != "" {
		return fmt.Errorf("%w: %q%s: did you mean %q?", ErrNoAgent, name, role, near)
	}
	return fmt.Errorf("%w: %q%s", ErrNoAgent, name, role)
}
