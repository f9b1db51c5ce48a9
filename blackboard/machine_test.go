package blackboard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard"
)

var roles = []blackboard.Role{blackboard.RoleDirector, blackboard.RoleWorker, blackboard.RoleStrategist, blackboard.RoleGuardian}

// owners are the pairs of states and the role that may move a task between them, as the
// document and the extension B28 have them; "*" are all states that are not final.
const owners = `
PLANNED READY director
PLANNED BLOCKED director
BLOCKED READY director
READY ACTIVE director
FAILED_QA READY director
FAILED_QA WAITING_HUMAN director
* ABANDONED director
ACTIVE AWAITING_QA worker
AWAITING_QA COMPLETE strategist
AWAITING_QA FAILED_QA strategist
ACTIVE BLOCKED director
ACTIVE READY director
ACTIVE WAITING_HUMAN director
WAITING_HUMAN READY director
BLOCKED WAITING_HUMAN director
READY BLOCKED director
FAILED_QA BLOCKED director`

// legal are the moves of a role by the table, as "FROM TO".
func legal(by ...blackboard.Role) map[string]bool {
	pairs := map[string]bool{}
	for _, from := range blackboard.TaskTable().States() {
		for _, option := range blackboard.TaskTable().Allowed(from, by...) {
			pairs[string(from)+" "+string(option.To)] = true
		}
	}
	return pairs
}

func TestTaskTable(t *testing.T) {
	proves(t, []string{"BA1 B21 B23 B24 B25 B28 B29 23 of 81 pairs, by role", "B29 58 of the 81 pairs are refused"}, func(t *testing.T) {
		want := map[blackboard.Role]map[string]bool{}
		for _, role := range roles {
			want[role] = map[string]bool{}
		}
		for line := range strings.SplitSeq(strings.TrimSpace(owners), "\n") {
			f := strings.Fields(line)
			from := []string{f[0]}
			if f[0] == "*" {
				from = []string{"PLANNED", "READY", "BLOCKED", "ACTIVE", "AWAITING_QA", "FAILED_QA", "WAITING_HUMAN"}
			}
			for _, s := range from {
				want[blackboard.Role(f[2])][s+" "+f[1]] = true
			}
		}
		assert.Len(t, blackboard.TaskTable().States(), 9)
		assert.Len(t, legal(), 23)
		for _, role := range roles {
			assert.Equal(t, want[role], legal(role), role)
		}
	})
	t.Run("BC54 events lead where the table says", func(t *testing.T) {
		assert.Equal(t, strings.TrimSpace(`
PLANNED: ready->READY block->BLOCKED abandon->ABANDONED
READY: block->BLOCKED dispatch->ACTIVE abandon->ABANDONED
BLOCKED: unblock->READY ask->WAITING_HUMAN abandon->ABANDONED
ACTIVE: deliver->AWAITING_QA pause->BLOCKED lose->READY release->READY resolve->READY ask->WAITING_HUMAN abandon->ABANDONED
AWAITING_QA: pass->COMPLETE fail->FAILED_QA conflict->FAILED_QA ungraded->FAILED_QA abandon->ABANDONED
FAILED_QA: phoenix->READY wait_fix->BLOCKED escalate->WAITING_HUMAN abandon->ABANDONED
COMPLETE:
WAITING_HUMAN: retry->READY accept->READY abandon->ABANDONED
ABANDONED:`), tableText())
	})
	t.Run("BA2 B27 a role that does not own a move", func(t *testing.T) {
		assert.False(t, legal(blackboard.RoleWorker)["AWAITING_QA COMPLETE"])
		assert.False(t, legal(blackboard.RoleStrategist)["ACTIVE AWAITING_QA"])
		assert.False(t, legal(blackboard.RoleDirector)["AWAITING_QA COMPLETE"])
	})
	t.Run("BA3 B26 the Guardian moves nothing", func(t *testing.T) { assert.Empty(t, legal(blackboard.RoleGuardian)) })
	t.Run("BA4 B22 BC2 nothing leaves COMPLETE and ABANDONED", func(t *testing.T) {
		assert.True(t, blackboard.TaskTable().Terminal(blackboard.Complete))
		assert.True(t, blackboard.TaskTable().Terminal(blackboard.Abandoned))
		for pair := range legal() {
			assert.False(t, strings.HasPrefix(pair, "COMPLETE ") || strings.HasPrefix(pair, "ABANDONED "), pair)
		}
	})
	t.Run("BA5 no short cuts", func(t *testing.T) {
		for _, pair := range []string{"PLANNED ACTIVE", "READY AWAITING_QA", "FAILED_QA ACTIVE", "BLOCKED ACTIVE"} {
			assert.False(t, legal()[pair], pair)
		}
	})
}

func tableText() string {
	var lines []string
	for _, s := range blackboard.TaskTable().States() {
		line := string(s) + ":"
		for _, o := range blackboard.TaskTable().Allowed(s) {
			line += " " + string(o.Event) + "->" + string(o.To)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestStrategy(t *testing.T) {
	t.Run("B10 B104 BC9 PROGRESSING and STAGNATING, by role", func(t *testing.T) {
		r := newRun(t)
		assert.Equal(t, blackboard.Progressing, r.Board().Strategy)
		r.refuses(blackboard.RoleDirector, "", blackboard.Steer{Event: blackboard.Stagnate}, "not allowed")
		r.refuses(blackboard.RoleDirector, "", blackboard.Steer{Event: blackboard.Progress}, "not allowed")
		r.do(blackboard.RoleStrategist, "", blackboard.Steer{Event: blackboard.Stagnate})
		assert.Equal(t, blackboard.Stagnating, r.Board().Strategy)
		r.refuses(blackboard.RoleStrategist, "", blackboard.Steer{Event: blackboard.Replanned}, "not allowed")
		r.do(blackboard.RoleDirector, "", blackboard.Steer{Event: blackboard.Replanned})
		assert.Equal(t, blackboard.Progressing, r.Board().Strategy)
		r.do(blackboard.RoleStrategist, "", blackboard.Steer{Event: blackboard.Stagnate})
		r.do(blackboard.RoleDirector, "", blackboard.Steer{Event: blackboard.Progress})
		assert.Equal(t, blackboard.Progressing, r.Board().Strategy)
	})
}
