package hierarchy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// premiere is the worked example with the head as grader, in the whole studio: a
// sequential run in which one department has specialists.
func premiere() theater {
	th := studio(breadTheft)
	th.in.Prompt = brief(breadTheft+" and his appearance and personality", 50)
	th.in.Only = []string{"character", "visual"}
	th.cast = cast{
		"character-appearance-specialist":  {"lean and quick", "lean, quick, torn vest"},
		"character-personality-specialist": {"cheeky and kind"},
		"character-head": {
			on{"Write one new result", "Aladdin, whole"},
			on{"lean and quick", marks(58, "say what he wears")},
			on{"torn vest", marks(72)},
			on{"cheeky", marks(87)},
		},
		"visual-lighting-specialist": {on{"", "warm light"}},
		"visual-camera-specialist":   {on{"", "low angle"}},
		"visual-head":                {on{"Write one new result", "the look"}, on{"", marks(80)}},
	}
	return th
}

// shaken is a run in which a specialist, a head and a department fail.
func shaken() theater {
	cfg := heads("a", "b", "c")
	cfg.Departments[1].DependsOn = []string{"a"}
	cfg.Departments[2].Agents = []hierarchy.Agent{specialist("s", 60), specialist("z", 0)}
	return theater{cfg: cfg, in: hierarchy.Input{Prompt: "go for a detailed hat"}, cast: cast{
		"a-head": {errBoom, "", errBoom, errBoom},
		"s":      {said("x", 20), errBoom, said("y", 50), said("z", 30)},
		"z":      {said("good", 10)},
		"c-head": {errBoom, errBoom, errBoom, errBoom},
	}}
}

func TestTranscripts(t *testing.T) {
	t.Run("HA30 transcript of the worked example", func(t *testing.T) {
		p := premiere().play(t)
		require.NoError(t, p.err)
		golden(t, "worked.txt", p.transcript())
	})
	t.Run("H70 transcript of a partial failure", func(t *testing.T) {
		p := shaken().play(t)
		require.NoError(t, p.err)
		assert.EqualValues(t, "partial", p.out.Status)
		golden(t, "partial.txt", p.transcript())
	})
	t.Run("H93 every transition is in a record", func(t *testing.T) {
		p := shaken().play(t)
		var moves []string
		for _, rec := range p.log {
			var e hierarchy.Event
			if json.Unmarshal(rec.Data, &e) == nil && e.Path == "run" {
				moves = append(moves, e.Moves...)
			}
		}
		assert.Equal(t, []string{
			"received -accept-> routing", "routing -routed-> dispatching", "dispatching -wave_done-> dispatching",
			"dispatching -some_done-> aggregating", "aggregating -combined-> validating", "validating -checked_part-> partial",
		}, moves)
	})
}
