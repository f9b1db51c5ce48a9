package fsm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
)

// shortRules is small enough for its refusals to be read.
func shortRules() definition {
	return definition{
		Initial:  "new",
		States:   []state{"new", "planning", "done", "failed"},
		Terminal: []state{"done", "failed"},
		Rules: []rule{
			{On: "fail", To: "failed"},
			{On: "plan", From: []state{"new"}, To: "planning", Roles: []role{"director"}},
			{On: "finish", From: []state{"planning"}, To: "done", Roles: []role{"worker", "director"}, Guard: "reasoned"},
		},
		Guards: map[string]guard{"reasoned": reasoned},
	}
}

func TestARefusalSaysWhyAndWhatIsAllowedInstead(t *testing.T) {
	tests := []struct {
		name  string
		from  state
		on    event
		actor role
		want  string
	}{
		{
			"role", "new", "plan", "guardian",
			`event "plan" from "new" is not allowed for "guardian"; allowed: fail->failed, plan->planning by [director]`,
		},
		{
			"state", "planning", "plan", "director",
			`event "plan" from "planning" is not allowed; allowed: fail->failed, finish->done by [worker, director]`,
		},
		{
			"unknown event", "new", "zap", "director",
			`event "zap" does not exist; allowed: fail->failed, plan->planning by [director]`,
		},
		{
			"terminal state", "done", "fail", "director",
			`event "fail" from "done" is not allowed; allowed: none (terminal)`,
		},
		{
			"unknown state", "nowhere", "fail", "director",
			`event "fail" from "nowhere" is not allowed: state "nowhere" does not exist`,
		},
	}
	tab := newTable(t, shortRules())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to, err := tab.Check(tt.from, tt.on, tt.actor)
			assert.EqualError(t, err, tt.want)
			assert.Equal(t, tt.from, to)
			assert.ErrorIs(t, err, fsm.ErrTransition)

			var refused *transitionError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, tt.from, refused.From)
			assert.Equal(t, tt.on, refused.Event)
			assert.Equal(t, tt.actor, refused.Actor)
			assert.Equal(t, tab.Allowed(tt.from), refused.Allowed)
			assert.NoError(t, refused.Err)
		})
	}
}

func TestARefusalMadeByHandHasATextToo(t *testing.T) {
	assert.EqualError(t, &transitionError{}, fsm.ErrTransition.Error())
}

func TestAGuardsRefusalCarriesItsReason(t *testing.T) {
	machine := newTable(t, shortRules()).Start(clock)
	_, err := machine.Fire("plan", "director", "")
	require.NoError(t, err)

	_, err = machine.Fire("finish", "worker", "")
	assert.EqualError(t, err, `event "finish" from "planning" is refused: guard "reasoned": no reason given; `+
		`allowed: fail->failed, finish->done by [worker, director]`)
	assert.ErrorIs(t, err, fsm.ErrTransition)
	assert.ErrorIs(t, err, errNoReason)
	var refused *transitionError
	require.ErrorAs(t, err, &refused)
	assert.ErrorIs(t, refused.Err, errNoReason)
}
