package fsm_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/fsm"
)

type (
	state string
	event string
	role  string

	definition      = fsm.Definition[state, event, role]
	rule            = fsm.Rule[state, event, role]
	guard           = fsm.Guard[state, event, role]
	entry           = fsm.Entry[state, event, role]
	option          = fsm.Option[state, event, role]
	table           = fsm.Table[state, event, role]
	transitionError = fsm.TransitionError[state, event, role]
)

var (
	update = flag.Bool("update", false, "write the golden files")
	noon   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

func clock() time.Time { return noon }

// taskRules has roles, a guard, an any-rule to a terminal and one to a
// non-terminal state, and a self-transition.
func taskRules() definition {
	return definition{
		Initial:  "new",
		States:   []state{"new", "planning", "review", "coding", "paused", "done", "failed"},
		Terminal: []state{"done", "failed"},
		Rules: []rule{
			{On: "plan", From: []state{"new"}, To: "planning", Roles: []role{"director"}},
			{On: "submit", From: []state{"planning"}, To: "review", Roles: []role{"worker"}},
			{On: "approve", From: []state{"review"}, To: "coding", Roles: []role{"guardian", "director"}, Guard: "reasoned"},
			{On: "reject", From: []state{"review"}, To: "planning", Roles: []role{"guardian"}},
			{On: "finish", From: []state{"coding"}, To: "done", Roles: []role{"worker"}},
			{On: "retry", From: []state{"coding"}, To: "coding"},
			{On: "pause", To: "paused"},
			{On: "resume", From: []state{"paused"}, To: "coding"},
			{On: "fail", To: "failed"},
		},
		Guards: map[string]guard{"reasoned": reasoned},
	}
}

var errNoReason = errors.New("no reason given")

func reasoned(e entry) error {
	if e.Note == "" {
		return errNoReason
	}
	return nil
}

// departmentRules is a table of the size that teams use.
func departmentRules() definition {
	return definition{
		Initial: "waiting",
		States: []state{
			"waiting", "analyzing", "head_direct", "specialists", "reviewing", "synthesizing",
			"fallback", "assessing", "done", "skipped", "failed", "canceled",
		},
		Terminal: []state{"done", "skipped", "failed", "canceled"},
		Rules: []rule{
			{On: "ready", From: []state{"waiting"}, To: "analyzing"},
			{On: "dependency_failed", From: []state{"waiting"}, To: "skipped"},
			{On: "direct", From: []state{"analyzing"}, To: "head_direct"},
			{On: "spawn", From: []state{"analyzing"}, To: "specialists"},
			{On: "all_finished", From: []state{"specialists"}, To: "reviewing"},
			{On: "some_pass", From: []state{"reviewing"}, To: "synthesizing"},
			{On: "none_pass", From: []state{"reviewing"}, To: "head_direct"},
			{On: "ok", From: []state{"synthesizing", "head_direct"}, To: "assessing"},
			{On: "retry", From: []state{"synthesizing"}, To: "synthesizing"},
			{On: "retry", From: []state{"head_direct"}, To: "head_direct"},
			{On: "give_up", From: []state{"synthesizing"}, To: "fallback"},
			{On: "give_up", From: []state{"head_direct"}, To: "failed"},
			{On: "taken", From: []state{"fallback"}, To: "assessing"},
			{On: "scored", From: []state{"assessing"}, To: "done"},
			{On: "cancel", To: "canceled"},
		},
	}
}

// wordyRules has names that need care in a diagram.
func wordyRules() definition {
	return definition{
		Initial:  "end",
		States:   []state{"end", "out of time", `"quoted"`},
		Terminal: []state{`"quoted"`},
		Rules: []rule{
			{On: "wait: a bit; #1", From: []state{"end"}, To: "out of time"},
			{On: "übergeben", From: []state{"out of time"}, To: `"quoted"`},
		},
	}
}

func newTable(tb testing.TB, def definition) *table {
	tb.Helper()
	tab, err := fsm.New(def)
	require.NoError(tb, err)
	return tab
}

// golden compares got with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
