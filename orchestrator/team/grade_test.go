package team_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

func TestGrade(t *testing.T) {
	no, over := errors.New("no"), &agent.Error{Message: "over", Codes: []agent.Code{"poetry/rule", "permanent"}}
	positive := func(g int) error {
		if g < 0 {
			return errors.New("it is negative")
		}
		return nil
	}
	for _, tt := range []struct {
		name           string
		answers        []any // grades, errors; nil: a panic
		grade, asked   int
		failed, broken string
	}{
		{"at once", []any{7}, 7, 1, "", ""},
		{"the second time", []any{no, 7}, 7, 2, "", ""},
		{"never", []any{no, over}, 0, 2, "over", ""},
		{"out of range", []any{-1}, 0, 1, "", "Rules.Grader: it is negative"},
		{"out of range the second time", []any{no, -1}, 0, 2, "", "Rules.Grader: it is negative"},
		{"a panic", []any{nil}, 0, 1, "", "Rules.Grader panicked: oh"},
		{"the run is over", []any{orchestrator.ErrFlow}, 0, 1, orchestrator.ErrFlow.Error(), orchestrator.ErrFlow.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, asked, failed := &orchestrator.Outcome{}, 0, error(nil)
			flow := orchestrator.Flow[int, int]{Name: "grade", Do: func(c *orchestrator.Context, _ int) (grade int, err error) {
				r, c := team.Begin(c, team.Start{Team: "poetry", Outcome: out})
				grade, failed, err = team.Grade(r, c, "poet", "Rules.Grader", func() (int, error) {
					asked++
					switch answer := tt.answers[asked-1].(type) {
					case nil:
						panic("oh")
					case error:
						return 9, answer
					default:
						return answer.(int), nil
					}
				}, positive)
				return grade, err
			}}
			grade, _, err := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} }).Run(t)
			assert.Equal(t, tt.grade, grade)
			assert.Equal(t, tt.asked, asked)
			if tt.failed == "" {
				require.NoError(t, failed)
			} else {
				require.EqualError(t, failed, tt.failed)
			}
			if tt.broken == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tt.broken)
			}
			if tt.broken == "" || tt.failed != "" {
				assert.Empty(t, out.Warnings)
				return
			}
			require.ErrorIs(t, err, agent.Code("poetry/rule"))
			assert.Equal(t, []orchestrator.Warning{{Code: "poetry/rule", Who: "poet", Message: tt.broken}}, out.Warnings)
		})
	}
}
