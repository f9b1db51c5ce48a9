package portfolio

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page has the machines, and every end of a run.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/director.md")
	require.NoError(t, err)
	_, several, _ := strings.Cut(string(page), "## Several projects")
	for _, machine := range []string{stages.Mermaid(""), phases.Mermaid("")} {
		assert.Contains(t, several, "```mermaid\n"+machine+"```\n")
	}
	for _, end := range phases.States() {
		if phases.Terminal(end) {
			assert.Contains(t, several, "\n| `"+string(end)+"` | ")
		}
	}
}
