package delivery

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

// steps makes steps of a number and of what each needs.
func steps(needs ...[]int) []Step {
	list := make([]Step, len(needs))
	for i, n := range needs {
		list[i] = Step{Number: i + 1, Description: "do it", Complexity: "medium", DependsOn: n}
	}
	return list
}

func TestPlanFaults(t *testing.T) {
	two := steps(nil, nil)
	for _, tt := range []struct {
		name  string
		steps []Step
		want  []string
	}{
		{"SA7 S8 two", two, nil},
		{"SA7 S8 fifteen", steps(make([][]int, 15)...), nil},
		{"SA6 SC17 one", steps(nil), []string{"the plan has 1 steps, want 2 to 15"}},
		{"SA6 SC17 sixteen", steps(make([][]int, 16)...), []string{"the plan has 16 steps, want 2 to 15"}},
		{"SX6 none", nil, []string{"the plan has 0 steps, want 2 to 15"}},
		{"S41 SC9 no description", []Step{{Number: 1, Description: " "}, {Number: 2, Description: "x"}}, []string{"step 1 has no description"}},
		{"SX5 a number twice", []Step{{Number: 3, Description: "x"}, {Number: 3, Description: "y"}}, []string{"the number 3 is used by 2 steps"}},
		{"SX5 with gaps", []Step{{Number: 30, Description: "x"}, {Number: 7, Description: "y", DependsOn: []int{30}}}, nil},
		{"SA26 SC18 a circle", steps([]int{2}, []int{1}), []string{"steps 1, 2 wait for each other"}},
		{"SA26 SC18 a longer one", steps([]int{3}, nil, []int{4}, []int{1}), []string{"steps 1, 3, 4 wait for each other"}},
		{"SA26 SC18 what is not there", steps([]int{9}, nil), []string{"step 1 depends on step 9, which is not in the plan"}},
		{"SA26 SC18 itself", steps([]int{1}, nil), []string{"step 1 depends on itself"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Plan{Steps: tt.steps}.faults(2, 15, nil))
		})
	}
	t.Run("SX6 the one that was rejected", func(t *testing.T) {
		rejected := Plan{ID: "p1", Analysis: "other words", Steps: steps(nil, nil)}
		assert.Equal(t, []string{"the plan is the one that was rejected"}, Plan{ID: "p2", Steps: two}.faults(2, 15, &rejected))
		for _, change := range []func(*Step){
			func(s *Step) { s.Description = "do it better" }, func(s *Step) { s.Complexity = "simple" },
			func(s *Step) { s.Number = 5 }, func(s *Step) { s.DependsOn = []int{1} },
		} {
			revised := Plan{Steps: steps(nil, nil)}
			change(&revised.Steps[1])
			assert.Empty(t, revised.faults(2, 15, &rejected))
		}
	})
	t.Run("SC17 of a sub-plan", func(t *testing.T) {
		assert.Empty(t, Plan{Steps: steps(nil)}.faults(1, 3, nil))
		assert.Equal(t, []string{"the plan has 4 steps, want 1 to 3"}, Plan{Steps: steps(nil, nil, nil, nil)}.faults(1, 3, nil))
	})
}

// order returns the positions of steps in the order in which they are executed.
func order(list []Step) (positions []int) {
	list = slices.Clone(list)
	for i := range list {
		list[i].ID, list[i].Status = fmt.Sprint(list[i].Number), stepPending
	}
	for first, nodes := ready(list); first >= 0; first, nodes = ready(list) {
		next := routing.Preference{}.Order(nodes, routing.Moment{})[0]
		at := slices.IndexFunc(list, func(s Step) bool { return s.ID == next.ID })
		list[at].Status = StepCompleted
		positions = append(positions, at)
	}
	return positions
}

// numbers returns the steps' numbers in the order of positions.
func numbers(list []Step, positions []int) (out []int) {
	for _, p := range positions {
		out = append(out, list[p].Number)
	}
	return out
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []Step
		want  []int
	}{
		{"SA27 S10 the need first", steps([]int{3}, nil, nil), []int{2, 3, 1}},
		{"SC61 SC45 no waves", steps([]int{3}, nil, nil, nil), []int{2, 3, 1, 4}},
		{"SC18 ties by number", []Step{{Number: 9}, {Number: 4}, {Number: 6}}, []int{4, 6, 9}},
		{"SC18 a chain backwards", steps([]int{2}, []int{3}, nil), []int{3, 2, 1}},
		{"SC18 numbers that are no positions", []Step{{Number: 2, DependsOn: []int{1}}, {Number: 1}}, []int{1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Nil(t, circle(tt.steps))
			assert.Equal(t, tt.want, numbers(tt.steps, order(tt.steps)))
		})
	}
}

func TestOrderLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 15).Draw(r, "n")
		rank := rapid.Permutation(intsTo(n)).Draw(r, "rank") // a step needs steps of lower rank only
		list := make([]Step, n)
		for i := range list {
			list[i] = Step{Number: i + 1, Description: "x"}
			for j := range list {
				if rank[j] < rank[i] && rapid.IntRange(0, 3).Draw(r, "needs") == 0 {
					list[i].DependsOn = append(list[i].DependsOn, j+1)
				}
			}
		}
		positions := order(list)
		assert.Nil(t, circle(list))
		assert.Len(t, positions, n)
		done := map[int]bool{}
		for at, p := range positions {
			assert.False(t, done[list[p].Number])
			for _, need := range list[p].DependsOn {
				assert.True(t, done[need], "S10 needs come first")
			}
			for _, later := range positions[at+1:] {
				ready := true
				for _, need := range list[later].DependsOn {
					ready = ready && done[need]
				}
				assert.False(t, ready && list[later].Number < list[p].Number, "SC45 the lowest number that is ready")
			}
			done[list[p].Number] = true
		}
	})
}

func intsTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestUnmet(t *testing.T) {
	done, lost, skipped := Step{Number: 1, Status: StepCompleted}, Step{Number: 2, Status: StepFailed, Attempts: 3}, Step{Number: 3, Status: StepBlocked}
	for _, tt := range []struct {
		name       string
		steps      []Step
		acceptable int
		want       string
	}{
		{"S44 all done", []Step{done}, 0, ""},
		{"S44 SC24 one failed", []Step{done, lost}, 0, "failed or skipped: steps 2; 0 may be"},
		{"SC24 one may fail", []Step{done, lost}, 1, ""},
		{"SA25 SC19 skipped ones count", []Step{lost, skipped}, 1, "failed or skipped: steps 2, 3; 1 may be"},
		{"SA25 SC24 both may", []Step{lost, skipped}, 2, ""},
		{"S44 one is open", []Step{done, {Number: 4, Status: stepPending}}, 5, "not finished: steps 4"},
		{"S44 one is under way", []Step{{Number: 5, Status: stepInProgress}}, 5, "not finished: steps 5"},
		{"S44 one has a sub-plan under way", []Step{{Number: 6, Status: StepBlocked, Attempts: 1}}, 5, "not finished: steps 6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Plan{Steps: tt.steps}.unmet(tt.acceptable))
		})
	}
}

func TestNextStepCostsTheSame(t *testing.T) { //nolint:paralleltest // it counts allocations
	allocations := func(n int) float64 {
		list := steps(make([][]int, n)...)
		for i := range n - 1 {
			list[i].Status = StepCompleted
		}
		list[n-1].Status, list[n-1].DependsOn = stepPending, []int{1, n - 1}
		s := State{Plans: []Plan{{Approved: true, Steps: list}}}
		return testing.AllocsPerRun(10, func() {
			first, _ := ready(list)
			shown, left := s.recent()
			assert.Equal(t, []int{n - 1, shownSteps, n - shownSteps}, []int{first, len(shown), left})
		})
	}
	few, many := allocations(50), allocations(5000)
	assert.InDelta(t, few, many, 5, "the runtime makes some of its own")
}
