package team

import (
	"embed"
	"io/fs"
	"text/template"

	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Prompts reads the templates in a team's folder prompts, or the host's of the same names.
// samples, quote and funcs are as in [prompt.Source]. One error has all faults.
func Prompts(own embed.FS, host fs.FS, samples map[string][]any, quote int, funcs template.FuncMap) (prompt.Set, error) {
	files, err := fs.Sub(own, "prompts")
	if err != nil {
		return prompt.Set{}, err
	}
	return prompt.New(prompt.Source{Own: files, Host: host, Samples: samples, Quote: quote, Funcs: funcs})
}
