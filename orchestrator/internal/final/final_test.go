package final_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
)

func TestErrorsOfStores(t *testing.T) {
	for _, tt := range []struct {
		err          error
		final, never bool
		code         error // code of Coded; nil: it is err itself
	}{
		{nil, false, false, nil},
		{errors.New("disk full"), false, false, nil},
		{context.DeadlineExceeded, false, false, nil},
		{context.Canceled, false, false, nil},
		{runlog.ErrNoRun, false, false, nil},
		{runlog.ErrConflict, true, false, nil},
		{runlog.ErrDamaged, true, false, nil},
		{runlog.ErrTooLarge, true, true, engine.ErrTooLarge},
		{runlog.ErrRefused, true, true, engine.ErrUnstorable},
		{engine.ErrTooLarge, false, true, nil},
		{engine.ErrUnstorable, false, true, nil},
	} {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("the store: %w", err)
		}
		t.Run(fmt.Sprint(err), func(t *testing.T) {
			assert.Equal(t, tt.final, final.Is(err))
			assert.Equal(t, tt.never, final.IsNever(err))
			coded := final.Coded(err)
			if tt.code == nil {
				assert.Equal(t, err, coded)
				return
			}
			require.ErrorIs(t, coded, tt.code)
			require.ErrorContains(t, coded, "it cannot be recorded: the store: runlog: ")
			assert.Equal(t, coded, final.Coded(coded), "once")
			assert.True(t, final.IsNever(agent.ErrorOf(coded)), "also as it crosses boundaries")
		})
	}
}

func TestFailureOfARun(t *testing.T) {
	err := final.Stuck("note", fmt.Errorf("record 12 of run %q: %w", "x", runlog.ErrTooLarge))
	require.ErrorIs(t, err, engine.ErrFlow)
	require.ErrorIs(t, err, engine.ErrTooLarge)
	require.EqualError(t, err, `record "note": too-large: it cannot be recorded: record 12 of run "x": runlog: too large`)
	failure := agent.ErrorOf(err)
	assert.True(t, final.Same(failure.Message, failure))
	assert.True(t, final.Same(`record "note": too-large: it cannot be recorded: record 7 of run "x": runlog: too large`, failure), "in another place")
	assert.False(t, final.Same(`record "note": too-large: it cannot be recorded: record 7 of run "y": runlog: too large`, failure))
	panicked := agent.ErrorOf(fmt.Errorf("%w: panic in line 12", engine.ErrFlow))
	assert.True(t, final.Same("flow: panic in line 12", panicked))
	assert.False(t, final.Same("flow: panic in line 7", panicked))
}
