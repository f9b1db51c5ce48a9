package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

// TestNamesThatPostgresNeverTakes has a flow whose name is longer than an index can hold.
func TestNamesThatPostgresNeverTakes(t *testing.T) {
	s := open(t, config(t))
	e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	var name strings.Builder // one that cannot be compressed
	for i := range 2500 {
		fmt.Fprintf(&name, "%04x", uint16(i*40503+i*i*i))
	}
	child := orchestrator.Flow[string, string]{Name: name.String(), Do: func(_ *orchestrator.Context, in string) (string, error) { return in, nil }}
	_, err = child.Start(t.Context(), e, "in", orchestrator.StartOptions{ID: "x"})
	require.ErrorIs(t, err, orchestrator.ErrTooLarge)
	require.ErrorContains(t, err, "longer than an index of Postgres can hold")
	_, err = s.Last(t.Context(), "x")
	require.ErrorIs(t, err, runlog.ErrNoRun)

	parent := orchestrator.Flow[string, string]{Name: "parent", Do: func(c *orchestrator.Context, in string) (string, error) {
		if _, err := child.Child(c, in); !errors.Is(err, orchestrator.ErrTooLarge) {
			return "", fmt.Errorf("the child: %w", err)
		}
		return "without it", nil
	}}
	got, err := parent.Run(t.Context(), e, "in")
	require.NoError(t, err)
	assert.Equal(t, "without it", got, "a child is a call of its parent, which goes on")
}
