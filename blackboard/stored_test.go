package blackboard_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

// storedTask has the names by which boards that are stored keep the parts of a task.
const storedTask = `{
	"id": "a", "title": "A", "description": "d", "component": "db", "phase": "build", "assigned_worker_profile": "p", "priority": 3,
	"depends_on": ["b"], "acceptance_criteria": ["c"], "risk": 0.1, "placeholder": true, "parent": "x", "from_parent": true,
	"status": "BLOCKED", "result_path": "a.md", "summary": "s", "retry_count": 1, "conflict_count": 2, "attempt": 4,
	"blocked_reason": {"type": "external", "description": "mail", "waiting_on": ["post"], "since": "2026-01-02T03:04:05Z"},
	"qa_feedback": {"passed": false, "kind": "qa", "outcome": "FAIL", "feedback": "f", "focus": "o", "files": ["x"], "by": "ann",
		"criteria": [{"criterion": "c", "passed": true, "reasoning": "r", "suggestions": "s"}],
		"tests": [{"test": "t", "analysis": "a", "fault": "both"}], "tests_needing_revision": ["t"], "notes": ["n"],
		"refined_test_criteria": ["r"], "plan_wrong": true},
	"waiting_for": ["w"], "checkpoint": {"id": "k", "resume": "next", "partial": {"n": 1}, "files": ["f"], "branch": "b", "commit": "c"},
	"escalation": {"type": "SCOPE_TOO_LARGE", "reason": "r", "needs": "n", "affected": ["a"], "non_blocking": true},
	"branch": "task/a", "frozen": {"path": "a.md", "branch": "task/a", "commit": "c1"}, "merged": "c2",
	"decisions": [{"id": "d1", "area": "db", "applies_to": ["a"], "summary": "s", "reason": "r", "timestamp": "2026-01-02T03:04:05Z"}],
	"accepted": true, "agent": "ann", "notBefore": "2026-01-02T03:04:05Z", "reason": "why",
	"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z", "started_at": "2026-01-02T03:04:05Z", "completed_at": "2026-01-02T03:04:05Z"
}`

// TestStoredTask reads a stored task and writes it with nothing lost.
func TestStoredTask(t *testing.T) {
	var task blackboard.Task
	require.NoError(t, json.Unmarshal([]byte(storedTask), &task))
	written, err := json.Marshal(task)
	require.NoError(t, err)
	assert.JSONEq(t, storedTask, string(written))
}
