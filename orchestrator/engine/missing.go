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
func NoAgent(name string, roster agent.Roster) error {
	if near := text.Nearest(name, slices.Sorted(maps.Keys(roster))); near != "" {
		return fmt.Errorf("%w: %q: did you mean %q?", ErrNoAgent, name, near)
	}
	return fmt.Errorf("%w: %q", ErrNoAgent, name)
}
