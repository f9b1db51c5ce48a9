package pgtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres/pgtest"
)

// TestStopWhileItStarts stops servers that have only just been started.
func TestStopWhileItStarts(t *testing.T) {
	s := pgtest.Open(t, "fsync=off")
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		require.ErrorContains(t, s.Restart(ctx), "the server does not start")
		cancel()
	}
	require.NoError(t, s.Restart(t.Context()), "it can be started afterwards")
}
