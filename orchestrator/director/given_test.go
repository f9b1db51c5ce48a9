package director_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

func TestGivenTasks(t *testing.T) {
	t.Run("B32 BC1 the case of a phase does not matter for TEST placeholders", func(t *testing.T) {
		for _, phase := range []string{"BUILD", " implement "} {
			d := define("db_build")
			d.Phase = phase
			s := script{in: director.Input{Tasks: []board.Definition{d}}}
			p := s.play(t)
			require.NoError(t, p.err)
			p.is(t, "db_build COMPLETE, test-db COMPLETE")
			assert.Equal(t, orchestrator.Completed, p.out.Status)
		}
	})
}
