package engine

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Same returns ErrExists, naming the first field in which a run that is there
// differs from the one that is started under its ID.
func Same(id, flow string, have *Input, wantFlow string, want *Input) error {
	differs := ""
	switch {
	case flow != wantFlow:
		return agent.ErrorOf(fmt.Errorf("%w: run %q is of flow %q, not %q", ErrExists, id, flow, wantFlow))
	case !bytes.Equal(have.Data, want.Data):
		differs = "input"
	case have.Parent != want.Parent:
		differs = "parent"
	case want.Parent != "": // what is left for a child may differ from what was left
	case have.Budget != want.Budget:
		differs = "StartOptions.Budget"
	case !maps.Equal(have.Labels, want.Labels):
		differs = "StartOptions.Labels"
	case have.ContinuedFrom != want.ContinuedFrom:
		differs = "StartOptions.ContinuedFrom"
	}
	if differs == "" {
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q of flow %q was started with another %s", ErrExists, id, flow, differs))
}
