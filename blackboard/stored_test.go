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
	"id": "a", "title": "A", "description": "d", "component": "db", "phase": "build", "profile": "p", "priority": 3,
	"dependsOn": ["b"], "criteria": ["c"], "risk": 0.1, "placeholder": true, "parent": "x", "fromParent": true,
	"status": "BLOCKED", "resultPath": "a.md", "summary": "s", "retryCount": 1, "conflictCount": 2, "attempt": 4,
	"blocked": {"type": "external", "description": "mail", "waitingOn": ["post"], "since": "2026-01-02T03:04:05Z"},
	"qa": {"passed": false, "kind": "qa", "outcome": "FAIL", "feedback": "f", "focus": "o", "files": ["x"], "by": "ann",
		"criteria": [{"criterion": "c", "passed": true, "reasoning": "r", "suggestions": "s"}],
		"tests": [{"test": "t", "analysis": "a", "fault": "both"}], "testsToRevise": ["t"], "notes": ["n"],
		"refined": ["r"], "planWrong": true},
	"waitingFor": ["w"], "checkpoint": {"id": "k", "resume": "next", "partial": {"n": 1}, "files": ["f"], "branch": "b", "commit": "c"},
	"escalation": {"type": "SCOPE_TOO_LARGE", "reason": "r", "needs": "n", "affected": ["a"], "nonBlocking": true},
	"branch": "task/a", "frozen": {"path": "a.md", "branch": "task/a", "commit": "c1"}, "merged": "c2",
	"decisions": [{"id": "d1", "area": "db", "appliesTo": ["a"], "summary": "s", "reason": "r", "at": "2026-01-02T03:04:05Z"}],
	"accepted": true, "agent": "ann", "notBefore": "2026-01-02T03:04:05Z", "reason": "why",
	"createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:04:05Z", "startedAt": "2026-01-02T03:04:05Z", "completedAt": "2026-01-02T03:04:05Z"
}`

// TestStoredTask reads a stored task and writes it with nothing lost.
func TestStoredTask(t *testing.T) {
	var task blackboard.Task
	require.NoError(t, json.Unmarshal([]byte(storedTask), &task))
	written, err := json.Marshal(task)
	require.NoError(t, err)
	assert.JSONEq(t, storedTask, string(written))
}
