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

func TestEachWordAndSignOfMermaidsOwnIsKeptOutOfTheDiagram(t *testing.T) {
	diagram := func(initial state, on event) string {
		return newTable(t, definition{Initial: initial, States: []state{initial, "z"}, Terminal: []state{"z"}, Rules: []rule{{On: on, To: "z"}}}).Mermaid("")
	}
	for _, word := range []state{"as", "class", "classDef", "click", "default", "direction", "End", "href", "note", "scale", "state", "style", "a b", "ä"} {
		assert.Contains(t, diagram(word, "go"), `state "`+string(word)+`" as s0`)
	}
	assert.NotContains(t, diagram("classy_2", "go"), "s0")
	assert.Contains(t, diagram("a", "#;:\"<>\n."), "a --> z: #35;#59;#58;#34;#60;#62; .\n")
}

func TestAnUnknownCurrentStateIsNotHighlighted(t *testing.T) {
	tab := newTable(t, taskRules())
	assert.Equal(t, tab.Mermaid(""), tab.Mermaid("nowhere"))
}
