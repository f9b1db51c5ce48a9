package fsm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
)

func TestAnEntryIsPlainJSON(t *testing.T) {
	full := entry{At: noon, From: "new", Event: "plan", To: "planning", Actor: "director", Note: "go"}
	text, err := json.Marshal([]entry{full, {From: "a", Event: "e", To: "b"}})
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"at":"2026-01-02T12:00:00Z","from":"new","event":"plan","to":"planning","actor":"director","note":"go"},
		{"from":"a","event":"e","to":"b"}
	]`, string(text))
}

func TestARestoredMachineContinues(t *testing.T) {
	machine := newTable(t, taskRules()).Start(time.Now)
	_, err := machine.Fire("plan", "director", "first")
	require.NoError(t, err)
	_, err = machine.Fire("pause", "", "")
	require.NoError(t, err)

	text, err := json.Marshal(machine.History())
	require.NoError(t, err)
	var history []entry
	require.NoError(t, json.Unmarshal(text, &history))

	restored, err := newTable(t, taskRules()).Restore(history, clock)
	require.NoError(t, err)
	assert.Equal(t, machine.Current(), restored.Current())
	assert.Equal(t, machine.History(), restored.History())

	_, err = restored.Fire("plan", "director", "")
	require.ErrorIs(t, err, fsm.ErrTransition)
	got, err := restored.Fire("resume", "", "")
	require.NoError(t, err)
	assert.Equal(t, append(machine.History(), got), restored.History())
}

func TestARestoredMachineKeepsACopyOfTheHistory(t *testing.T) {
	history := []entry{{From: "new", Event: "fail", To: "failed"}}
	machine, err := newTable(t, taskRules()).Restore(history, clock)
	require.NoError(t, err)
	history[0].To = "changed"
	assert.Equal(t, state("failed"), machine.History()[0].To)
}

func TestAnEmptyHistoryRestoresTheInitialState(t *testing.T) {
	machine, err := newTable(t, taskRules()).Restore(nil, clock)
	require.NoError(t, err)
	assert.Equal(t, state("new"), machine.Current())
	assert.Empty(t, machine.History())
}

func TestRestoreDoesNotAskGuardsAgain(t *testing.T) {
	def := taskRules()
	def.Guards["reasoned"] = func(entry) error { panic("asked") }
	machine, err := newTable(t, def).Restore([]entry{
		{From: "new", Event: "plan", To: "planning", Actor: "director"},
		{From: "planning", Event: "submit", To: "review", Actor: "worker"},
		{From: "review", Event: "approve", To: "coding", Actor: "guardian"},
	}, clock)
	require.NoError(t, err)
	assert.Equal(t, state("coding"), machine.Current())
}

func TestRestoreNamesTheEntryThatDoesNotFit(t *testing.T) {
	plan := entry{From: "new", Event: "plan", To: "planning", Actor: "director"}
	tests := []struct {
		name    string
		history []entry
		want    string
		refused bool
	}{
		{
			"broken chain",
			[]entry{plan, {From: "review", Event: "reject", To: "planning", Actor: "guardian"}},
			`fsm: restore: history[1]: event "reject" starts in "review", but the state there is "planning"`, false,
		},
		{
			"wrong start",
			[]entry{{From: "planning", Event: "submit", To: "review", Actor: "worker"}},
			`fsm: restore: history[0]: event "submit" starts in "planning", but the state there is "new"`, false,
		},
		{
			"wrong target",
			[]entry{plan, {From: "planning", Event: "submit", To: "coding", Actor: "worker"}},
			`fsm: restore: history[1]: event "submit" from "planning" leads to "coding", but the table says "review"`, false,
		},
		{
			"event that is not allowed",
			[]entry{plan, {From: "planning", Event: "finish", To: "done", Actor: "worker"}},
			`fsm: restore: history[1]: event "finish" from "planning" is not allowed; ` +
				`allowed: submit->review by [worker], pause->paused, fail->failed`, true,
		},
		{
			"role",
			[]entry{plan, {From: "planning", Event: "submit", To: "review", Actor: "director"}},
			`fsm: restore: history[1]: event "submit" from "planning" is not allowed for "director"; ` +
				`allowed: submit->review by [worker], pause->paused, fail->failed`, true,
		},
		{
			"beyond the end",
			[]entry{{From: "new", Event: "fail", To: "failed"}, {From: "failed", Event: "fail", To: "failed"}},
			`fsm: restore: history[1]: event "fail" from "failed" is not allowed; allowed: none (terminal)`, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			machine, err := newTable(t, taskRules()).Restore(tt.history, clock)
			require.EqualError(t, err, tt.want)
			assert.Nil(t, machine)
			if tt.refused {
				assert.ErrorIs(t, err, fsm.ErrTransition)
			} else {
				assert.NotErrorIs(t, err, fsm.ErrTransition)
			}
		})
	}
}
