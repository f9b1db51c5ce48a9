package research

import (
	"embed"
	"io/fs"

	"github.com/convene-go/convene/internal/prompt"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// promptData is what the templates are filled with. What agents work on is the JSON of
// Request.Input, never part of a prompt (RX24).
type promptData struct {
	Worker    string
	Category  Category
	Brief     Brief
	Iteration int
}

func newPrompts(host fs.FS) (prompt.Set, error) {
	own, err := fs.Sub(ownPrompts, "prompts")
	if err != nil {
		return prompt.Set{}, err
	}
	samples := map[string][]any{}
	for _, name := range []string{"plan.tmpl", "strategy.tmpl", "work.tmpl", "evaluate.tmpl", "merge.tmpl"} {
		for _, category := range categories {
			samples[name] = append(samples[name],
				promptData{Worker: "w", Category: category, Brief: Brief{}.withDefaults(), Iteration: 2},
				promptData{Worker: "w", Category: category, Iteration: 1},
			)
		}
	}
	return prompt.New(prompt.Source{Own: own, Host: host, Samples: samples})
}
