package research

import (
	"embed"
	"io/fs"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// promptData is the data of the templates. The work that agents see is the JSON of
// Request.Input, never part of a prompt.
type promptData struct {
	Worker    string
	Category  Category
	Revises   bool
	Brief     Brief
	Iteration int
}

func newPrompts(host fs.FS) (prompt.Set, error) {
	var all []any
	for _, category := range categories {
		for i, revises := range []bool{false, true} {
			all = append(all, promptData{"w", category, revises, Input{}.withDefaults(team.Limits{}).brief(), i + 1})
		}
	}
	return team.Prompts(ownPrompts, host, map[string][]any{"plan.tmpl": all, "strategy.tmpl": all, "work.tmpl": all, "evaluate.tmpl": all, "merge.tmpl": all}, 0, nil)
}
