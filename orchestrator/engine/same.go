package engine

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Same returns nil if a run that is there may be taken for the one that is started
// under its ID. Else it returns ErrExists and names the first field that differs.
//
// flow and have are those of the run that is there, wantFlow and want those of the
// start. Flow, Data, Parent, Budget, Labels, Values, Secret and ContinuedFrom have to be
// equal. A child
// is told by its Data and Parent only: what is left for it may differ each time. Have
// and want are not changed.
func Same(run, flow string, have *Input, wantFlow string, want *Input) error {
	differs := ""
	switch {
	case flow != wantFlow:
		return agent.ErrorOf(fmt.Errorf("%w: run %q is of flow %q, not %q", ErrExists, run, flow, wantFlow))
	case !bytes.Equal(have.Data, want.Data):
		differs = "input"
	case have.Parent != want.Parent:
		differs = "parent"
	case want.Parent != "":
	case have.Budget != want.Budget:
		differs = "StartOptions.Budget"
	case !sameNames(have.Secret.Labels, want.Secret.Labels), !sameNames(have.Secret.Values, want.Secret.Values):
		differs = "StartOptions.Secret"
	case !maps.Equal(have.Labels, want.Labels), !maps.Equal(have.Secret.Labels, want.Secret.Labels):
		differs = "StartOptions.Labels"
	case !maps.Equal(have.Values, want.Values), !maps.Equal(have.Secret.Values, want.Secret.Values):
		differs = "StartOptions.Values"
	case have.ContinuedFrom != want.ContinuedFrom:
		differs = "StartOptions.ContinuedFrom"
	}
	if differs == "" {
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q of flow %q was started with another %s", ErrExists, run, flow, differs))
}
