package orchestrator_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// An engine without a store forgets old runs; callers of Run get their end all the
// same.
func TestRunOfARunThatIsForgotten(t *testing.T) {
	e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}})
	var callers sync.WaitGroup
	for range 3000 {
		callers.Go(func() {
			got, err := pair.Run(t.Context(), e, none{})
			assert.NoError(t, err)
			assert.Equal(t, "one two", got)
		})
	}
	callers.Wait()
}
