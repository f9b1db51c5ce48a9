package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/team"
)

func TestReportsAreShared(t *testing.T) {
	const n = 1000
	r := &run{byID: map[string]*department{"unchosen": {Department: Department{ID: "unchosen"}}}}
	r.out.Reports = make([]Report, n)
	for i := range n {
		id := team.Clone(string(rune('a'+i%26)) + string(rune('0'+i)))
		r.departments = append(r.departments, &department{Department: Department{ID: id}, run: r, report: &r.out.Reports[i], place: i})
		r.byID[id] = r.departments[i]
	}
	name := func(i int) string { return r.departments[i].ID }
	t.Run("HC49 a department without dependencies gets nothing, and costs nothing", func(t *testing.T) {
		lone := r.departments[0]
		require.Zero(t, testing.AllocsPerRun(10, func() {
			if len(r.needs(lone)) > 0 {
				t.Error("it needs something")
			}
		}))
	})
	t.Run("HC49 all get the one report of a dependency, in the order of the route", func(t *testing.T) {
		for i := 5; i < n; i++ {
			d := r.departments[i]
			d.DependsOn = []string{name(4), "unchosen", name(2), name(4)}
			needs := r.needs(d)
			require.Len(t, needs, 2)
			assert.Same(t, &r.out.Reports[2], needs[0])
			assert.Same(t, &r.out.Reports[4], needs[1])
		}
	})
}
