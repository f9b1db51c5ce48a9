package blackboard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) blackboard.Store { return blackboard.NewMemory() })
}

func TestMemoryLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m blackboard.Memory
		require.NoError(t, m.Lease(t.Context(), "engine", "ann", time.Minute))
		<-time.After(time.Minute - 1)
		require.ErrorIs(t, m.Lease(t.Context(), "engine", "bob", time.Minute), blackboard.ErrConflict)
		<-time.After(1)
		require.NoError(t, m.Lease(t.Context(), "engine", "bob", time.Minute))
	})
}
