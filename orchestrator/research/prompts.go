package research

import (
	"embed"
	"io/fs"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// promptData is what the templates are filled with. What agents work on is the JSON of
// Request.Input, never part of a prompt.
type promptData struct {
	Worker    string
	Category  Category
	Revises   bool
	Brief     Input
	Iteration int
}

func newPrompts(host fs.FS) (prompt.Set, error) {
	samples := map[string][]any{}
	for _, name := range []string{"plan.tmpl", "strategy.tmpl", "work.tmpl", "evaluate.tmpl", "merge.tmpl"} {
		for _, category := range categories {
			for iteration, revises := range []bool{false, true} {
				samples[name] = append(samples[name], promptData{"w", category, revises, Input{}.withDefaults(), iteration + 1})
			}
		}
	}
	return team.Prompts(ownPrompts, host, samples, 0, nil)
}
