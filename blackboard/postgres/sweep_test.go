package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/teamtest"
)

// TestTeams kills the ready teams after every record.
func TestTeams(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sweeps all teams")
	}
	var mu sync.Mutex
	var free []string // schemas of stores that are closed
	teamtest.Sweep(t, func(tb testing.TB) runlog.Store {
		tb.Helper()
		schema := fmt.Sprint("test_", schemas.Add(1))
		mu.Lock()
		if n := len(free); n > 0 {
			schema, free = free[n-1], free[:n-1]
		}
		mu.Unlock()
		s := open(tb, postgres.Config{Pool: pool(tb, dsn(tb)+" pool_max_conns=1"), Schema: schema})
		tb.Cleanup(func() {
			ctx := context.WithoutCancel(tb.Context())
			var runs []string
			for l, err := range s.List(ctx, runlog.Query{}) {
				require.NoError(tb, err)
				runs = append(runs, l.Run)
			}
			require.NoError(tb, s.Delete(ctx, runs...))
			mu.Lock()
			defer mu.Unlock()
			free = append(free, schema)
		})
		return s
	})
}
