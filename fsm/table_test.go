package fsm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/fsm"
)

func TestTheGridShowsEveryStateAndEvent(t *testing.T) {
	golden(t, "task.grid", newTable(t, taskRules()).String())
	golden(t, "department.grid", newTable(t, departmentRules()).String())
	golden(t, "wordy.grid", newTable(t, wordyRules()).String())
}

func TestNextLooksUpTheTarget(t *testing.T) {
	tests := []struct {
		name string
		from state
		on   event
		want state
		ok   bool
	}{
		{"rule with its state", "new", "plan", "planning", true},
		{"roles and guards are not asked", "review", "approve", "coding", true},
		{"self-transition", "coding", "retry", "coding", true},
		{"any-rule", "paused", "fail", "failed", true},
		{"any-rule leaves out its own target", "paused", "pause", "paused", false},
		{"any-rule leaves out terminal states", "done", "fail", "done", false},
		{"event of another state", "new", "submit", "new", false},
		{"unknown event", "new", "zap", "new", false},
		{"unknown state", "nowhere", "fail", "nowhere", false},
		{"empty names", "", "", "", false},
	}
	tab := newTable(t, taskRules())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tab.Next(tt.from, tt.on)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.ok, ok)
		})
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	tab, def := newTable(t, departmentRules()), departmentRules()
	allocs := testing.AllocsPerRun(100, func() {
		for _, from := range def.States {
			for _, r := range def.Rules {
				tab.Next(from, r.On)
			}
		}
		tab.Next("nowhere", "zap")
	})
	assert.Zero(t, allocs)
}

func TestCheckAsksForTheRoleButNotTheGuard(t *testing.T) {
	tab := newTable(t, taskRules())

	to, err := tab.Check("review", "approve", "director")
	assert.NoError(t, err)
	assert.Equal(t, state("coding"), to)

	to, err = tab.Check("review", "approve", "worker")
	assert.ErrorIs(t, err, fsm.ErrTransition)
	assert.Equal(t, state("review"), to)
}

func TestAllowedListsOptionsInTableOrder(t *testing.T) {
	approve := option{Event: "approve", To: "coding", Roles: []role{"guardian", "director"}, Guard: "reasoned"}
	reject := option{Event: "reject", To: "planning", Roles: []role{"guardian"}}
	pause := option{Event: "pause", To: "paused"}
	fail := option{Event: "fail", To: "failed"}
	tests := []struct {
		name   string
		state  state
		actors []role
		want   []option
	}{
		{"for anybody", "review", nil, []option{approve, reject, pause, fail}},
		{"for one actor", "review", []role{"director"}, []option{approve, pause, fail}},
		{"for an actor without a role", "review", []role{"passer-by"}, []option{pause, fail}},
		{"for one of several actors", "review", []role{"worker", "guardian"}, []option{approve, reject, pause, fail}},
		{"in a terminal state", "done", nil, nil},
		{"in an unknown state", "nowhere", nil, nil},
	}
	tab := newTable(t, taskRules())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tab.Allowed(tt.state, tt.actors...))
		})
	}
}

func TestTerminalStatesAreKnown(t *testing.T) {
	tab := newTable(t, taskRules())
	assert.True(t, tab.Terminal("failed"))
	assert.False(t, tab.Terminal("new"))
	assert.False(t, tab.Terminal("nowhere"))
}

func TestTableDoesNotShareItsDataWithCallers(t *testing.T) {
	def := taskRules()
	tab := newTable(t, def)
	picture, diagram := tab.String(), tab.Mermaid("")

	def.States[0] = "changed"
	def.Terminal[0] = "changed"
	def.Rules[0].To = "changed"
	def.Rules[0].From[0] = "changed"
	def.Rules[0].Roles[0] = "changed"
	def.Guards["reasoned"] = nil
	tab.States()[0] = "changed"
	tab.Allowed("new")[0].Roles[0] = "changed"

	assert.Equal(t, picture, tab.String())
	assert.Equal(t, diagram, tab.Mermaid(""))
	assert.Equal(t, taskRules().States, tab.States())
	assert.Equal(t, []role{"director"}, tab.Allowed("new")[0].Roles)
}

func TestTableKeepsItsGuardsWhenTheCallerChangesTheirs(t *testing.T) {
	def := shortRules()
	machine := newTable(t, def).Start(clock)
	def.Guards["reasoned"] = func(entry) error { panic("asked") }
	_, err := machine.Fire("plan", "director", "")
	assert.NoError(t, err)
	_, err = machine.Fire("finish", "worker", "a reason")
	assert.NoError(t, err)
}

func TestATableMayHaveOneTerminalStateAndNoRules(t *testing.T) {
	tab := newTable(t, definition{Initial: "only", States: []state{"only"}, Terminal: []state{"only"}})
	assert.Equal(t, "\nonly\n", tab.String())
}

func TestMustNew(t *testing.T) {
	good := fsm.Definition[string, string, string]{
		Initial: "a", States: []string{"a", "b"}, Terminal: []string{"b"}, Rules: []fsm.Rule[string, string, string]{{On: "go", From: []string{"a"}, To: "b"}},
	}
	assert.Equal(t, good.States, fsm.MustNew(good).States())
	good.Initial = "c"
	assert.Panics(t, func() { fsm.MustNew(good) })
}

func TestEvents(t *testing.T) {
	tab := fsm.MustNew(taskRules())
	events := tab.Events()
	assert.Equal(t, []event{"plan", "submit", "approve", "reject", "finish", "retry", "pause", "resume", "fail"}, events)
	clear(events)
	assert.Equal(t, event("plan"), tab.Events()[0], "the caller owns the slice")
}
