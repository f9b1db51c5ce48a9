package fsm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheDiagramShowsRolesGuardsAndTheCurrentState(t *testing.T) {
	golden(t, "task.mermaid", newTable(t, taskRules()).Mermaid("review"))
	golden(t, "department.mermaid", newTable(t, departmentRules()).Mermaid(""))
}

func TestTheDiagramEscapesNamesThatMermaidWouldMisread(t *testing.T) {
	golden(t, "wordy.mermaid", newTable(t, wordyRules()).Mermaid("out of time"))
}

func TestOneWordOfMermaidsOwnMakesTheDiagramNumberItsStates(t *testing.T) {
	tab := newTable(t, definition{
		Initial: "begin", States: []state{"begin", "End"}, Terminal: []state{"End"},
		Rules: []rule{{On: "stop", To: "End"}},
	})
	assert.Equal(t, `stateDiagram-v2
    state "begin" as s0
    state "End" as s1
    [*] --> s0
    s0 --> s1: stop
    s1 --> [*]
`, tab.Mermaid(""))
}

func TestAnUnknownCurrentStateIsNotHighlighted(t *testing.T) {
	tab := newTable(t, taskRules())
	assert.Equal(t, tab.Mermaid(""), tab.Mermaid("nowhere"))
}
