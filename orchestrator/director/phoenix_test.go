package director

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAfterFailure(t *testing.T) {
	policy := attempts{retries: 3, conflicts: 3}
	t.Run("BA23 B76 B77 BC18 three retries, the fourth failure goes to a person", func(t *testing.T) {
		for failures, want := range map[int]failureRoute{1: phoenix, 2: phoenix, 3: phoenix, 4: askHuman} {
			assert.Equal(t, want, policy.after(failures, 0), failures)
		}
	})
	t.Run("BA24 BC19 no retries", func(t *testing.T) {
		assert.Equal(t, askHuman, attempts{}.after(1, 0))
		assert.Equal(t, giveUp, attempts{giveUp: true}.after(1, 0))
		assert.Equal(t, phoenix, attempts{giveUp: true, retries: 1}.after(1, 0))
	})
	t.Run("BA27 BC21 the fourth conflict goes to a person", func(t *testing.T) {
		for conflicts, want := range map[int]failureRoute{1: phoenix, 2: phoenix, 3: phoenix, 4: askHuman} {
			assert.Equal(t, want, policy.after(0, conflicts), conflicts)
		}
	})
}

func TestStagnation(t *testing.T) {
	// after says at which events a run stagnates: F(a) fails task a, P passes, R plans anew.
	after := func(events string) string {
		var s stagnation
		var out []string
		for event := range strings.FieldsSeq(events) {
			switch event {
			case "P":
				s.passed()
			case "R":
				s.replanned()
			default:
				s.failed(event)
			}
			if s.reached(3) {
				out = append(out, "STAGNATING")
			} else {
				out = append(out, "-")
			}
		}
		return strings.Join(out, " ")
	}
	t.Run("BA99 B104 BC9 three failures of one task", func(t *testing.T) {
		assert.Equal(t, "- - STAGNATING", after("a a a"))
		assert.Equal(t, "- - - - STAGNATING", after("a a P P a"), "a pass does not help the task")
	})
	t.Run("BA99 BC9 planned anew, both begin again", func(t *testing.T) {
		assert.Equal(t, "- - STAGNATING - - - STAGNATING", after("a a a R a b a"))
	})
	t.Run("BA100 a pass ends the row", func(t *testing.T) {
		assert.Equal(t, "- - - -", after("a b P a"))
	})
	t.Run("BA100 BC9 the task that failed most counts, whichever failed last", func(t *testing.T) {
		assert.Equal(t, "- - - - STAGNATING STAGNATING", after("a P a P a b"))
	})
	t.Run("BA101 three in a row of different tasks", func(t *testing.T) {
		assert.Equal(t, "- - STAGNATING", after("a b c"))
	})
}
